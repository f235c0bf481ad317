package import AppStore
internal import OpenSSL

/// Decides whether app receipts are genuine and belong to a configured app.
///
/// It uses neither network nor clock and is safe for concurrent use. Until the signature is verified, it decodes only the envelope, the
/// certificates and the creation date, and uses only keys whose chain leads to a root. A forged receipt costs less time than a genuine one,
/// and at most a few times its size in memory.
package struct ReceiptVerifier: Sendable {
    /// The limit of the input's size; receipts with hundreds of purchases have about 100 kB.
    package static let maximumByteCount = 4 << 20

    package let policy: ReceiptPolicy
    private let roots: [Certificate]

    package init(policy: ReceiptPolicy) {
        self.policy = policy
        roots = policy.roots.map(\.certificate)
    }

    /// Verifies a receipt, raw or in base64, with or without line breaks.
    package func verify(_ input: ArraySlice<UInt8>, receivedAt: Timestamp) -> ReceiptVerdict {
        do throws(ReceiptRejection) {
            return .valid(try verified(try Self.encoding(of: input)[...], receivedAt: receivedAt))
        } catch {
            return .invalid(error)
        }
    }

    /// Verifies a receipt, raw or in base64, with or without line breaks.
    package func verify(_ input: [UInt8], receivedAt: Timestamp) -> ReceiptVerdict { verify(input[...], receivedAt: receivedAt) }

    /// Verifies a receipt in base64, as in clients' requests, notifications V1 and verifyReceipt's answers.
    package func verify(_ base64: String, receivedAt: Timestamp) -> ReceiptVerdict { verify(Array(base64.utf8), receivedAt: receivedAt) }

    private static func encoding(of input: ArraySlice<UInt8>) throws(ReceiptRejection) -> [UInt8] {
        guard input.count <= maximumByteCount else { throw ReceiptRejection(.tooLarge, "\(input.count) bytes") }
        switch ReceiptInput(input) {
        case .appReceipt(let encoding): return encoding
        case .transactionReceipt: throw ReceiptRejection(.transactionReceipt, "iOS 6 style: only verifyReceipt can verify it")
        case .other: throw ReceiptRejection(.notAReceipt)
        case .notBase64: throw ReceiptRejection(.notBase64)
        case .empty: throw ReceiptRejection(.empty)
        }
    }

    private func verified(_ encoding: ArraySlice<UInt8>, receivedAt: Timestamp) throws(ReceiptRejection) -> VerifiedReceipt {
        let signed = try Self.parse(encoding)
        // Untrusted here: the chain is validated at the receipt's own creation date.
        let creationDate = try Self.creationDate(of: signed)
        let anchor = try verifySignature(of: signed, madeAt: creationDate)
        let receipt: AppReceipt
        do {
            receipt = try AppReceipt(content: signed.content)
        } catch {
            throw ReceiptRejection(.contentMalformed, "\(error)")
        }
        let (environment, bundleID) = try policy.check(receipt, madeAt: creationDate, anchor: anchor, receivedAt: receivedAt)
        return VerifiedReceipt(
            receipt: receipt,
            environment: environment,
            bundleID: bundleID,
            creationDate: creationDate,
            contentHash: Digest.sha256(signed.content),
            digest: signed.signer.digest
        )
    }

    private static func creationDate(of signed: SignedReceipt) throws(ReceiptRejection) -> Timestamp {
        let date: Timestamp?
        do {
            date = try AppReceipt.creationDate(inContent: signed.content)
        } catch {
            throw ReceiptRejection(.contentNotAttributes, "\(error)")
        }
        guard let date else { throw ReceiptRejection(.creationDateMissing) }
        return date
    }
}

extension ReceiptVerifier {
    private static func parse(_ encoding: ArraySlice<UInt8>) throws(ReceiptRejection) -> SignedReceipt {
        do {
            return try SignedReceipt(encoding)
        } catch {
            let reason: ReceiptReason =
                switch error.code {
                case .encoding: .malformed
                case .notSignedData: .notSignedData
                case .contentMissing: .contentMissing
                case .certificateCount: .certificateCount
                case .signerCount: .signerCount
                case .digest: .digestNotSupported
                case .signatureAlgorithm: .signatureAlgorithmNotSupported
                case .signedAttributes: .signedAttributesMalformed
                }
            throw ReceiptRejection(reason, error.cause.map { "\($0)" })
        }
    }

    /// Verifies the signature and returns the root of the signer's chain.
    ///
    /// Several certificates can have the signer's serial number, because the sender can add any: one valid certificate is enough. When there is
    /// none, throws the rejection of the first.
    private func verifySignature(of signed: SignedReceipt, madeAt date: Timestamp) throws(ReceiptRejection) -> Certificate {
        let certificates = signed.certificates.map(Self.decode)
        var first: ReceiptRejection?
        for index in signed.signerCertificateIndexes {
            do throws(ReceiptRejection) {
                let leaf = try certificates[index].get()
                let others = certificates.indices.filter { $0 != index }.compactMap { certificates[$0].certificate }
                let chain = try ReceiptChain(leaf: leaf, others: others, roots: roots, at: date.millisecondsSince1970 / 1000)
                try Self.verifySignature(of: signed, with: chain.key)
                return chain.anchor
            } catch {
                first = first ?? error
            }
        }
        throw first ?? ReceiptRejection(.signerCertificateMissing)
    }

    private static func verifySignature(of signed: SignedReceipt, with key: PublicKey) throws(ReceiptRejection) {
        let digest: SignatureDigest =
            switch signed.signer.digest {
            case .sha1: .sha1
            case .sha256: .sha256
            }
        if let attributes = signed.signer.signedAttributes {
            guard attributes.messageDigest == digest.hash(signed.content) else { throw ReceiptRejection(.messageDigestMismatch) }
        }
        let message = signed.signer.signedAttributes?.encoding ?? signed.content
        guard key.verifyRSA(signature: signed.signer.signature, message: message, digest: digest) else {
            throw ReceiptRejection(.signatureInvalid)
        }
    }

    private static func decode(_ der: [UInt8]) -> Result<Certificate, ReceiptRejection> {
        do {
            return .success(try Certificate(der: der))
        } catch {
            return .failure(ReceiptRejection(.certificateMalformed, "\(error)"))
        }
    }
}

extension Result<Certificate, ReceiptRejection> {
    /// Nil for an unreadable certificate.
    fileprivate var certificate: Certificate? {
        guard case .success(let certificate) = self else { return nil }
        return certificate
    }
}
