import AppStore
import AppStoreVerification
import OpenSSL
import StoreSimulator
import StrictJSON

/// Processor time that verification takes on this machine, for each event, measured in this process.
struct VerificationCost: Sendable {
    /// SHA-256 of the signed part and the P-256 verification.
    let signatures: Duration
    /// The rest of decoding a notification: base64url, JSON, payload types, policy, the lookup in the chain cache.
    let decoding: Duration

    /// Measures a sample of bodies, which must all be genuine; nil when the measured program is another build.
    init?(of bodies: [[UInt8]], store: BenchmarkStore, in environment: BenchmarkEnvironment) throws {
        guard environment.isSameBuild else { return nil }
        try self.init(of: bodies, store: store)
    }

    /// Measures a sample of bodies, which must all be genuine.
    init(of bodies: [[UInt8]], store: BenchmarkStore) throws {
        let verifier = try store.verifier()
        let requests = bodies.map { VerificationRequest($0) }
        let parts = try bodies.flatMap { try SignedParts.all(in: $0) }
        try VerificationRequest.warmUp(verifier, with: requests)
        let all = try ThreadClock.time { for request in requests { try request.verify(with: verifier) } }
        guard let key = store.authority.leaf.publicKey else {
            throw BenchmarkError(.wrongResult, "the simulated store's certificate has no usable key")
        }
        var genuine = 0
        let signing = try ThreadClock.time {
            for part in parts where key.verifyES256(signature: part.signature, message: part.message[...]) { genuine += 1 }
        }
        guard genuine == parts.count else { throw BenchmarkError(.wrongResult, "a signature of the simulated store is not genuine") }
        signatures = signing / max(1, bodies.count)
        decoding = max(.zero, all / max(1, bodies.count) - signatures)
    }
}

/// A body whose verification must succeed.
struct VerificationRequest: Sendable {
    private let body: [UInt8]
    /// Later than any signature of a simulated life.
    private static let receivedAt = Timestamp(millisecondsSince1970: 4_000_000_000_000)

    init(_ body: [UInt8]) {
        self.body = body
    }

    /// Verifies until the chain is cached.
    static func warmUp(_ verifier: Verifier, with requests: [VerificationRequest]) throws {
        for request in requests.prefix(10) { try request.verify(with: verifier) }
    }

    /// Verifies and decodes the body.
    func verify(with verifier: Verifier) throws {
        let jws = try NotificationBody.signedPayload(in: body)
        switch verifier.verifyNotification(jws, receivedAt: Self.receivedAt) {
        case .valid: return
        case .invalid(let rejection):
            let reason = "\(rejection.reason.rawValue) in \(rejection.location)"
            throw BenchmarkError(.wrongResult, "a simulated notification is rejected: \(reason)")
        }
    }
}

/// The signed bytes of a JWS and its signature.
struct SignedParts: Sendable {
    let message: [UInt8]
    let signature: [UInt8]

    /// Parses a compact JWS.
    init(_ jws: ArraySlice<UInt8>) throws {
        guard let dot = jws.lastIndex(of: UInt8(ascii: ".")), let signature = Base64URL.decode(jws[(dot + 1)...]) else {
            throw BenchmarkError(.wrongResult, "a simulated notification holds no compact JWS")
        }
        message = Array(jws[..<dot])
        self.signature = signature
    }

    /// The parts of a notification's JWS and of all JWS inside it.
    static func all(in body: [UInt8]) throws -> [SignedParts] {
        let outer = try NotificationBody.signedPayload(in: body)
        var parts = [try SignedParts(outer)]
        let payload = try JSONParser().parseObject(try CompactJWS(outer).payload)
        for (container, names) in [("data", ["signedTransactionInfo", "signedRenewalInfo"]), ("appData", ["signedAppTransactionInfo"])] {
            guard case .object(let object)? = payload[container] else { continue }
            for name in names {
                if case .string(let jws)? = object[name] { parts.append(try SignedParts(Array(jws.utf8)[...])) }
            }
        }
        return parts
    }
}
