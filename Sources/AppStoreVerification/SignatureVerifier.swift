internal import AppStore
internal import OpenSSL
import StrictJSON

/// The cryptographic part of verification: checks one JWS against the configured roots, not the content of its payload.
struct SignatureVerifier: Sendable {
    let roots: [Certificate]
    let cache: ChainCache

    /// Verifies a JWS and returns its payload.
    func verify(_ bytes: ArraySlice<UInt8>, _ diagnostics: VerificationDiagnostics?) throws(Flaw) -> SignedPayload {
        let jws = try diagnostics.check(.form) { () throws(Flaw) in try Self.form(of: bytes) }
        // Untrusted here: the chain is validated at the payload's own date.
        let payload = Result { () throws(Flaw) in try UnverifiedPayload(jws.payload) }
        // The checks behind a cached chain were made earlier: a record needs them again.
        if diagnostics == nil, case .success(let known) = payload, let chain = cache.chain(for: jws.headerSegment, at: known.second) {
            try Self.verifySignature(of: jws, by: chain)
            return SignedPayload(known, bytes: jws.payload, chain: chain)
        }
        let (leaf, intermediate) = try Self.certificates(of: jws, diagnostics)
        let unverified = try diagnostics.check(.signedDate) { () throws(Flaw) in
            do throws(Flaw) {
                return try payload.get()
            } catch {
                throw isSigned(jws, by: leaf, intermediate) ? UnverifiedPayload.flaw(ofGenuine: error) : error
            }
        }
        let chain = try SigningChain(
            leaf: leaf,
            intermediates: [intermediate],
            roots: roots,
            at: unverified.second,
            rules: .jws,
            diagnostics
        )
        try diagnostics.check(.signature) { () throws(Flaw) in try Self.verifySignature(of: jws, by: chain) }
        cache.insert(chain, for: jws.headerSegment)
        return SignedPayload(unverified, bytes: jws.payload, chain: chain)
    }

    /// Whether a JWS without a readable signing date is genuine. Nothing of it counts, so the chain is validated at any time: the leaf's start.
    private func isSigned(_ jws: CompactJWS, by leaf: Certificate, _ intermediate: Certificate) -> Bool {
        do throws(Flaw) {
            let chain = try SigningChain(
                leaf: leaf,
                intermediates: [intermediate],
                roots: roots,
                at: leaf.notBefore,
                rules: .jws,
                nil
            )
            try Self.verifySignature(of: jws, by: chain)
            return true
        } catch {
            return false
        }
    }

    private static func verifySignature(of jws: CompactJWS, by chain: SigningChain) throws(Flaw) {
        guard chain.key.verifyES256(signature: jws.signature, message: jws.signingInput) else {
            throw Flaw(ECDSASignature.isWellFormed(raw: jws.signature) ? .signatureInvalid : .signatureMalformed)
        }
    }

    private static func form(of bytes: ArraySlice<UInt8>) throws(Flaw) -> CompactJWS {
        do {
            return try CompactJWS(bytes)
        } catch {
            throw Flaw(error)
        }
    }

    private static func certificates(
        of jws: CompactJWS,
        _ diagnostics: VerificationDiagnostics?
    ) throws(Flaw) -> (leaf: Certificate, intermediate: Certificate) {
        let header = try diagnostics.check(.header) { () throws(Flaw) in try Self.header(of: jws) }
        try diagnostics.check(.algorithm) { () throws(Flaw) in
            guard header.alg == "ES256" else { throw Flaw(.algorithmNotES256) }
        }
        return try diagnostics.check(.certificates) { () throws(Flaw) in try certificates(in: header) }
    }

    private static func header(of jws: CompactJWS) throws(Flaw) -> JOSEHeader {
        do {
            return try jws.decodeHeader()
        } catch {
            throw Flaw(error)
        }
    }

    private static func certificates(in header: JOSEHeader) throws(Flaw) -> (leaf: Certificate, intermediate: Certificate) {
        guard header.x5c.count != 1 else {
            throw Flaw(.x5cCount, "1 certificate: signed by Xcode's local testing (StoreKit testing), not by Apple")
        }
        guard header.x5c.count == 3 else { throw Flaw(.x5cCount, "\(header.x5c.count) certificates") }
        var certificates: [Certificate] = []
        for (index, der) in header.x5c.enumerated() {
            do throws(UnreadableCertificate) {
                certificates.append(try Certificate(untrusted: der))
            } catch {
                throw Flaw(error.reason, "x5c[\(index)]: \(error)")
            }
        }
        return (certificates[0], certificates[1])
    }
}

extension Flaw {
    fileprivate init(_ malformed: MalformedJWS) {
        let reason: VerificationReason =
            switch malformed.code {
            case .parts: .malformedParts
            case .headerEncoding: .headerNotBase64URL
            case .payloadEncoding: .payloadNotBase64URL
            case .signatureEncoding: .signatureNotBase64URL
            case .headerJSON: .headerNotJSON
            case .unsupportedHeader: .headerNotSupported
            case .algorithmMissing: .algorithmMissing
            case .certificatesMissing: .x5cMissing
            case .certificateEncoding: .x5cNotBase64
            }
        self.init(reason, malformed.syntaxError.map(String.init(describing:)))
    }
}

/// A payload whose signature is not verified.
private struct UnverifiedPayload {
    let object: JSONObject
    let kind: SignedPayloadKind?
    let signedDate: Timestamp

    init(_ bytes: [UInt8]) throws(Flaw) {
        do {
            object = try JSONParser().parseObject(bytes)
        } catch {
            throw Flaw(.payloadNotJSON, "\(error)")
        }
        kind = SignedPayloadKind.of(object)
        let member = kind == .appTransaction ? "receiptCreationDate" : "signedDate"
        guard case .number(let number)? = object[member], let date = Timestamp(number) else {
            var flaw = Flaw(.signedDateMissing, member)
            flaw.genuine = GenuineContent(object, kind)
            throw flaw
        }
        signedDate = date
    }

    /// What a payload that cannot be read is refused for, when its signature is valid.
    static func flaw(ofGenuine flaw: Flaw) -> Flaw {
        var genuine = flaw
        genuine.isUnreadable = true
        genuine.genuine = flaw.genuine ?? .other
        if flaw.reason == .signedDateMissing, let place = genuine.genuine?.odd.first(where: isSigningDate) {
            genuine.reason = .unreadableMember
            genuine.detail = place
        }
        return genuine
    }

    private static func isSigningDate(_ place: String) -> Bool {
        ["signedDate", "transaction.signedDate", "renewalInfo.signedDate", "appTransaction.receiptCreationDate"].contains(place)
    }

    /// The signedDate in seconds since 1970, the unit of certificates.
    var second: Int64 { signedDate.millisecondsSince1970 / 1000 }
}

/// A payload whose signature is verified, not yet decoded.
struct SignedPayload {
    let object: JSONObject
    /// Nil when the members determine none of the four kinds.
    let kind: SignedPayloadKind?
    let signedDate: Timestamp
    let bytes: [UInt8]
    let chain: SigningChain

    fileprivate init(_ payload: UnverifiedPayload, bytes: [UInt8], chain: SigningChain) {
        object = payload.object
        kind = payload.kind
        signedDate = payload.signedDate
        self.bytes = bytes
        self.chain = chain
    }

    /// Decodes the payload as the expected kind. The check is needed because one leaf signs all kinds.
    func decode<Content: SignedContent>(
        as type: Content.Type,
        _ diagnostics: VerificationDiagnostics?
    ) throws(Flaw) -> SignedValue<Content> {
        try diagnostics.check(.kind) { () throws(Flaw) in try decode(as: type) }
    }

    private func decode<Content: SignedContent>(as type: Content.Type) throws(Flaw) -> SignedValue<Content> {
        guard kind == Content.kind else { throw wrongKind("\(kind?.rawValue ?? "unknown") instead of \(Content.kind.rawValue)") }
        let value = Content(decoding: object)
        return SignedValue(
            value: value,
            payloadBytes: bytes,
            signedDate: signedDate,
            odd: value.oddMembers,
            unknown: value.unknownValues
        )
    }

    /// Another kind is not wanted here. One that this version does not know may be what a later version reads.
    func wrongKind(_ detail: String) -> Flaw {
        var flaw = Flaw(.wrongKind, detail)
        flaw.isUnreadable = kind == nil
        flaw.genuine = GenuineContent(object, kind)
        return flaw
    }
}
