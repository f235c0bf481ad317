internal import AppStore
internal import OpenSSL

/// The result of validating the certificates of a JWS or receipt: a key that may sign, below a configured root.
struct SigningChain: Sendable {
    /// The leaf's key.
    let key: PublicKey
    /// The leaf, the intermediate, and the configured root.
    let path: [Certificate]
    /// SHA-256 of leaf and intermediate.
    let fingerprints: [[UInt8]]
    /// When all three certificates are valid, in seconds since 1970.
    let validity: ClosedRange<Int64>

    /// The configured root of the chain.
    var anchor: Certificate { path[2] }
}

extension SigningChain {
    private static let intermediateMarker = "1.2.840.113635.100.6.2.1"
    private static let leafMarker = "1.2.840.113635.100.6.11.1"

    /// Where chains of JWS and of receipts differ.
    enum Rules {
        /// The second certificate of the header is the intermediate. Ignores the third one: it is untrusted input.
        case jws
        /// Allows SHA-1, because Apple signed the certificates of older receipts with it.
        case receipt
    }

    /// Validates a leaf below one of `roots` at `time`, in seconds since 1970.
    ///
    /// - Parameter intermediates: untrusted, too: the sender can add any.
    init(
        leaf: Certificate,
        intermediates: [Certificate],
        roots: [Certificate],
        at time: Int64,
        rules: Rules,
        _ diagnostics: VerificationDiagnostics?
    ) throws(Flaw) {
        let path = try diagnostics.check(.chain) { () throws(Flaw) in
            let isReceipt = rules == .receipt
            let path: [Certificate]
            switch CertificateChain.validate(leaf: leaf, intermediates: intermediates, roots: roots, at: time, allowingSHA1: isReceipt) {
            case .accepted(let found): path = found
            case .refused(let refusal): throw Flaw(refusal, intermediates: intermediates, rules)
            }
            // libcrypto would also accept a leaf directly below a root.
            guard path.count == 3 else { throw Flaw(.chainBroken, "\(path.count) certificates") }
            guard path[1].isCA else { throw Flaw(.intermediateNotCA) }
            guard path[1].mayUseKey(.keyCertSign) else { throw Flaw(.intermediateKeyUsage) }
            return path
        }
        try diagnostics.check(.intermediate) { () throws(Flaw) in
            guard path[1].hasExtension(oid: Self.intermediateMarker) else { throw Flaw(.intermediateMarkerMissing) }
        }
        key = try diagnostics.check(.leaf) { () throws(Flaw) in try Self.key(of: leaf, rules) }
        self.path = path
        fingerprints = path.prefix(2).map(\.sha256Fingerprint)
        // Not empty: all three are valid at `time`.
        validity = path.reduce(Int64.min...Int64.max) { $0.clamped(to: $1.notBefore...$1.notAfter) }
    }

    private static func key(of leaf: Certificate, _ rules: Rules) throws(Flaw) -> PublicKey {
        guard !leaf.isCA else { throw Flaw(.leafIsCA) }
        guard leaf.mayUseKey(.digitalSignature) else { throw Flaw(.leafKeyUsage) }
        guard let key = leaf.publicKey, rules == .jws ? key.isP256 : key.rsaBitCount != nil else {
            throw Flaw(rules == .jws ? .leafKeyNotP256 : .leafKeyNotRSA)
        }
        guard leaf.hasExtension(oid: leafMarker) else { throw Flaw(.leafMarkerMissing) }
        return key
    }
}

extension Certificate {
    /// A certificate without key usage does not restrict its key (RFC 5280 §4.2.1.3).
    fileprivate func mayUseKey(_ usage: KeyUsage) -> Bool { keyUsage?.contains(usage) ?? true }
}

extension Flaw {
    fileprivate init(_ refusal: ChainRefusal, intermediates: [Certificate], _ rules: SigningChain.Rules) {
        let reason: VerificationReason =
            switch refusal.problem {
            // A receipt may have no intermediate at all.
            case .issuerNotFound: rules == .jws && refusal.depth == 0 ? .chainBroken : .untrustedRoot
            case .signatureInvalid: .certificateSignatureInvalid
            case .expired: .certificateExpired
            case .notYetValid: .certificateNotYetValid
            case .issuerNotCA where refusal.depth > 1: .certificateRefused
            // libcrypto has one code for both errors.
            case .issuerNotCA: intermediates.contains(where: \.isCA) ? .intermediateKeyUsage : .intermediateNotCA
            case .pathTooLong: .pathTooLong
            case .unknownCriticalExtension: .unknownCriticalExtension
            case .tooWeak: .certificateTooWeak
            case .other: .certificateRefused
            }
        let names = rules == .jws ? ["x5c[0]", "x5c[1]"] : ["leaf", "intermediate"]
        self.init(reason, "\(names.dropFirst(refusal.depth).first ?? "root"): \(refusal)")
    }
}

/// Why a certificate of a JWS or a receipt cannot be used, before its chain is validated.
enum UnreadableCertificate: Error, CustomStringConvertible {
    /// Refused without libcrypto.
    case form(CertificateForm.Refusal)
    /// Refused by libcrypto.
    case content(OpenSSLError)

    /// Whether the key is the reason, and not the encoding or the size.
    var isKeyUnsupported: Bool {
        switch self {
        case .form(.tooLarge), .form(.notDER), .content: false
        case .form: true
        }
    }

    var reason: VerificationReason {
        if isKeyUnsupported { return .certificateKeyUnsupported }
        if case .content(let error) = self, error.code == .trailingBytes { return .certificateTrailingBytes }
        return .certificateMalformed
    }

    var description: String {
        switch self {
        case .form(let refusal): "\(refusal)"
        case .content(let error): "\(error)"
        }
    }
}

extension Certificate {
    /// Reads one certificate in DER that may be forged: libcrypto sees it only if ``CertificateForm`` accepts it.
    convenience init(untrusted der: [UInt8]) throws(UnreadableCertificate) {
        do throws(CertificateForm.Refusal) {
            try CertificateForm.check(der)
        } catch {
            throw .form(error)
        }
        do throws(OpenSSLError) {
            try self.init(der: der)
        } catch {
            throw .content(error)
        }
    }
}
