internal import AppStore
internal import OpenSSL

/// The result of validating the certificates of a header: a key that may sign, below a configured root.
struct SigningChain: Sendable {
    /// The leaf's key.
    let key: PublicKey
    /// The configured root of the chain.
    let anchor: Certificate
    /// When all three certificates are valid, in seconds since 1970.
    let validity: ClosedRange<Int64>
}

extension SigningChain {
    private static let intermediateMarker = "1.2.840.113635.100.6.2.1"
    private static let leafMarker = "1.2.840.113635.100.6.11.1"

    /// Validates leaf and intermediate below one of `roots` at `time`, in seconds since 1970.
    ///
    /// Ignores the header's third certificate: it is untrusted input.
    init(leaf: Certificate, intermediate: Certificate, roots: [Certificate], at time: Int64) throws(Flaw) {
        let path: [Certificate]
        switch CertificateChain.validate(leaf: leaf, intermediates: [intermediate], roots: roots, at: time) {
        case .accepted(let found): path = found
        case .refused(let refusal): throw Flaw(refusal, intermediate: intermediate)
        }
        // libcrypto would also accept a leaf directly below a root, with an unrelated intermediate.
        guard path.count == 3, path[1] == intermediate, let anchor = path.last else { throw Flaw(.chainBroken) }
        try Self.checkIntermediate(intermediate)
        key = try Self.checkLeaf(leaf)
        self.anchor = anchor
        // Not empty: all three are valid at `time`.
        validity = path.reduce(Int64.min...Int64.max) { $0.clamped(to: $1.notBefore...$1.notAfter) }
    }

    private static func checkIntermediate(_ certificate: Certificate) throws(Flaw) {
        guard certificate.isCA else { throw Flaw(.intermediateNotCA) }
        guard certificate.keyUsage?.contains(.keyCertSign) == true else { throw Flaw(.intermediateKeyUsage) }
        guard certificate.hasExtension(oid: intermediateMarker) else { throw Flaw(.intermediateMarkerMissing) }
    }

    private static func checkLeaf(_ certificate: Certificate) throws(Flaw) -> PublicKey {
        guard !certificate.isCA else { throw Flaw(.leafIsCA) }
        guard certificate.keyUsage?.contains(.digitalSignature) == true else { throw Flaw(.leafKeyUsage) }
        guard let key = certificate.publicKey, key.isP256 else { throw Flaw(.leafKeyNotP256) }
        guard certificate.hasExtension(oid: leafMarker) else { throw Flaw(.leafMarkerMissing) }
        return key
    }
}

extension Flaw {
    fileprivate init(_ refusal: ChainRefusal, intermediate: Certificate) {
        let reason: VerificationReason =
            switch refusal.problem {
            case .issuerNotFound: refusal.depth == 0 ? .chainBroken : .untrustedRoot
            case .signatureInvalid: .certificateSignatureInvalid
            case .expired: .certificateExpired
            case .notYetValid: .certificateNotYetValid
            case .issuerNotCA where refusal.depth > 1: .certificateRefused
            // libcrypto has one code for both errors.
            case .issuerNotCA: intermediate.isCA ? .intermediateKeyUsage : .intermediateNotCA
            case .pathTooLong: .pathTooLong
            case .unknownCriticalExtension: .unknownCriticalExtension
            case .tooWeak: .certificateTooWeak
            case .other: .certificateRefused
            }
        self.init(reason, "\(Self.name(ofDepth: refusal.depth)): \(refusal)")
    }

    private static func name(ofDepth depth: Int) -> String {
        depth < 2 ? "x5c[\(depth)]" : "root"
    }
}
