internal import AppStore
internal import OpenSSL

/// The result of validating a receipt's certificates: a key that may sign receipts, below a configured root.
struct ReceiptChain: Sendable {
    /// The leaf's key.
    let key: PublicKey
    /// The configured root of the chain.
    let anchor: Certificate

    private static let intermediateMarker = "1.2.840.113635.100.6.2.1"
    private static let leafMarker = "1.2.840.113635.100.6.11.1"

    /// Validates a leaf below one of `roots` at `time`, in seconds since 1970, with intermediates from `others`.
    ///
    /// Ignores self-signed certificates among the others, such as the root that every receipt includes: they are untrusted input. Allows SHA-1,
    /// only here, because Apple signed the certificates of older receipts with it.
    init(leaf: Certificate, others: [Certificate], roots: [Certificate], at time: Int64) throws(ReceiptRejection) {
        let intermediates = others.filter { !$0.isSelfSigned }
        let verdict = CertificateChain.validate(leaf: leaf, intermediates: intermediates, roots: roots, at: time, allowingSHA1: true)
        let path: [Certificate]
        switch verdict {
        case .accepted(let found): path = found
        case .refused(let refusal): throw ReceiptRejection(refusal, intermediates: intermediates)
        }
        guard path.count == 3 else { throw ReceiptRejection(.chainBroken, "\(path.count) certificates") }
        try Self.checkIntermediate(path[1])
        key = try Self.checkLeaf(leaf)
        anchor = path[2]
    }

    private static func checkIntermediate(_ certificate: Certificate) throws(ReceiptRejection) {
        guard certificate.isCA else { throw ReceiptRejection(.intermediateNotCA) }
        guard certificate.keyUsage?.contains(.keyCertSign) ?? true else { throw ReceiptRejection(.intermediateKeyUsage) }
        guard certificate.hasExtension(oid: intermediateMarker) else { throw ReceiptRejection(.intermediateMarkerMissing) }
    }

    private static func checkLeaf(_ certificate: Certificate) throws(ReceiptRejection) -> PublicKey {
        guard !certificate.isCA else { throw ReceiptRejection(.leafIsCA) }
        guard certificate.keyUsage?.contains(.digitalSignature) ?? true else { throw ReceiptRejection(.leafKeyUsage) }
        guard let key = certificate.publicKey, key.rsaBitCount != nil else { throw ReceiptRejection(.leafKeyNotRSA) }
        guard certificate.hasExtension(oid: leafMarker) else { throw ReceiptRejection(.leafMarkerMissing) }
        return key
    }
}

extension ReceiptRejection {
    fileprivate init(_ refusal: ChainRefusal, intermediates: [Certificate]) {
        let reason: ReceiptReason =
            switch refusal.problem {
            case .issuerNotFound: .untrustedRoot
            case .signatureInvalid: .certificateSignatureInvalid
            case .expired: .certificateExpired
            case .notYetValid: .certificateNotYetValid
            // libcrypto has one code for both errors.
            case .issuerNotCA: intermediates.contains(where: \.isCA) ? .intermediateKeyUsage : .intermediateNotCA
            case .pathTooLong: .pathTooLong
            case .unknownCriticalExtension: .unknownCriticalExtension
            case .tooWeak: .certificateTooWeak
            case .other: .certificateRefused
            }
        self.init(reason, "\(["leaf", "intermediate"].dropFirst(refusal.depth).first ?? "root"): \(refusal)")
    }
}
