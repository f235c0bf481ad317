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

    package let policy: VerificationPolicy
    private let roots: [Certificate]

    package init(policy: VerificationPolicy) {
        self.policy = policy
        roots = policy.roots.map(\.certificate)
    }

    /// Verifies a receipt, raw or in base64, with or without line breaks.
    package func verify(
        _ input: ArraySlice<UInt8>,
        receivedAt: Timestamp,
        diagnostics: VerificationDiagnostics? = nil
    ) -> Verdict<VerifiedReceipt> {
        diagnostics?.begin(Self.location, requiring: .receipt)
        do throws(Flaw) {
            return try verified(input, receivedAt: receivedAt, diagnostics)
        } catch {
            return .invalid(Rejection(error, at: Self.location))
        }
    }

    /// Verifies a receipt in base64, as in clients' requests, notifications V1 and verifyReceipt's answers.
    package func verify(_ base64: String, receivedAt: Timestamp, diagnostics: VerificationDiagnostics? = nil) -> Verdict<VerifiedReceipt> {
        verify(Array(base64.utf8)[...], receivedAt: receivedAt, diagnostics: diagnostics)
    }

    private static let location = "receipt"

    private func verified(
        _ input: ArraySlice<UInt8>,
        receivedAt: Timestamp,
        _ diagnostics: VerificationDiagnostics?
    ) throws(Flaw) -> Verdict<VerifiedReceipt> {
        let signed = try diagnostics.check(.form) { () throws(Flaw) in try Self.parse(try Self.encoding(of: input)) }
        // Untrusted here: the chain is validated at the receipt's own creation date.
        let creationDate = try diagnostics.check(.signedDate) { () throws(Flaw) in
            do throws(Flaw) {
                return try Self.creationDate(of: signed)
            } catch {
                throw isSigned(signed) ? error.ofGenuineContent : error
            }
        }
        let anchor = try anchor(of: signed, madeAt: creationDate, diagnostics)
        let receipt = try diagnostics.check(.kind) { () throws(Flaw) in try Self.content(of: signed) }
        let subject = Subject(kind: .receipt, environment: receipt.environment, bundleID: receipt.bundleID, appAppleID: receipt.appItemID)
        do throws(Flaw) {
            try policy.check(subject, signedAt: creationDate, below: anchor, receivedAt: receivedAt, diagnostics)
            guard let environment = subject.environment else { throw Flaw(.environmentMissing) }
            guard let bundleID = subject.bundleID else { throw Flaw(.bundleMissing) }
            return .valid(
                VerifiedReceipt(
                    receipt: receipt,
                    environment: environment,
                    bundleID: bundleID,
                    creationDate: creationDate,
                    contentHash: Digest.sha256(signed.content),
                    digest: signed.signer.digest
                )
            )
        } catch {
            return .invalid(Rejection(error, at: Self.location, in: .receipt(receipt)))
        }
    }

    private static func encoding(of input: ArraySlice<UInt8>) throws(Flaw) -> ArraySlice<UInt8> {
        guard input.count <= maximumByteCount else { throw Flaw(.receiptTooLarge, "\(input.count) bytes") }
        switch ReceiptInput(input) {
        case .appReceipt(let encoding): return encoding[...]
        case .transactionReceipt: throw Flaw(.transactionReceipt, "iOS 6 style: only verifyReceipt can verify it")
        case .other: throw Flaw(.notAReceipt)
        case .notBase64: throw Flaw(.receiptNotBase64)
        case .empty: throw Flaw(.receiptEmpty)
        }
    }

    private static func creationDate(of signed: SignedReceipt) throws(Flaw) -> Timestamp {
        let date: Timestamp?
        do {
            date = try AppReceipt.creationDate(inContent: signed.content)
        } catch {
            throw Flaw(.contentNotAttributes, "\(error)")
        }
        guard let date else { throw Flaw(.creationDateMissing) }
        return date
    }

    private static func content(of signed: SignedReceipt) throws(Flaw) -> AppReceipt {
        do {
            return try AppReceipt(content: signed.content)
        } catch {
            throw Flaw(.contentMalformed, "\(error)").ofGenuineContent
        }
    }
}

extension ReceiptVerifier {
    /// Whether a receipt without a readable creation date is genuine. Nothing of it counts, so the chain is validated at any time.
    private func isSigned(_ signed: SignedReceipt) -> Bool {
        do throws(Flaw) {
            _ = try anchor(of: signed, madeAt: nil, nil)
            return true
        } catch {
            return false
        }
    }

    /// Verifies the signature and returns the root of the signer's chain.
    ///
    /// - Parameter date: nil for when the leaf became valid.
    ///
    /// Several certificates can have the signer's serial number, because the sender can add any: one valid certificate is enough. When there is
    /// none, throws the flaw of the first.
    private func anchor(
        of signed: SignedReceipt,
        madeAt date: Timestamp?,
        _ diagnostics: VerificationDiagnostics?
    ) throws(Flaw) -> Certificate {
        let certificates = signed.certificates.map(Self.decode)
        var first: (flaw: Flaw, attempt: VerificationDiagnostics?)?
        for index in signed.signerCertificateIndexes {
            let attempt = diagnostics?.attempt()
            do throws(Flaw) {
                let leaf = try attempt.check(.certificates) { () throws(Flaw) in try certificates[index].get() }
                // Every receipt includes a root, too: ignored, since it is untrusted input.
                let others = certificates.indices.filter { $0 != index }.compactMap { certificates[$0].certificate }
                let chain = try SigningChain(
                    leaf: leaf,
                    intermediates: others.filter { !$0.isSelfSigned },
                    roots: roots,
                    at: date.map { $0.millisecondsSince1970 / 1000 } ?? leaf.notBefore,
                    rules: .receipt,
                    attempt
                )
                try attempt.check(.signature) { () throws(Flaw) in try Self.verifySignature(of: signed, with: chain.key) }
                if let attempt { diagnostics?.add(attempt) }
                return chain.anchor
            } catch {
                first = first ?? (error, attempt)
            }
        }
        guard let first else {
            return try diagnostics.check(.certificates) { () throws(Flaw) in throw Flaw(.signerCertificateMissing) }
        }
        if let attempt = first.attempt { diagnostics?.add(attempt) }
        throw first.flaw
    }

    private static func verifySignature(of signed: SignedReceipt, with key: PublicKey) throws(Flaw) {
        let digest: SignatureDigest =
            switch signed.signer.digest {
            case .sha1: .sha1
            case .sha256: .sha256
            }
        if let attributes = signed.signer.signedAttributes {
            guard attributes.messageDigest == digest.hash(signed.content) else { throw Flaw(.messageDigestMismatch) }
        }
        let message = signed.signer.signedAttributes?.encoding ?? signed.content
        guard key.verifyRSA(signature: signed.signer.signature, message: message, digest: digest) else { throw Flaw(.signatureInvalid) }
    }

    private static func decode(_ der: [UInt8]) -> Result<Certificate, Flaw> {
        do throws(UnreadableCertificate) {
            return .success(try Certificate(untrusted: der))
        } catch {
            return .failure(Flaw(error.isKeyUnsupported ? .certificateKeyUnsupported : .certificateMalformed, "\(error)"))
        }
    }

    private static func parse(_ encoding: ArraySlice<UInt8>) throws(Flaw) -> SignedReceipt {
        do {
            return try SignedReceipt(encoding)
        } catch {
            let reason: VerificationReason =
                switch error.code {
                case .encoding: .receiptMalformed
                case .notSignedData: .notSignedData
                case .contentMissing: .contentMissing
                case .certificateCount: .certificateCount
                case .signerCount: .signerCount
                case .digest: .digestNotSupported
                case .signatureAlgorithm: .signatureAlgorithmNotSupported
                case .signedAttributes: .signedAttributesMalformed
                }
            throw Flaw(reason, error.cause.map { "\($0)" })
        }
    }
}

extension Flaw {
    /// The flaw of a receipt whose signature is valid and whose content cannot be read.
    fileprivate var ofGenuineContent: Flaw {
        var flaw = self
        flaw.isUnreadable = true
        flaw.genuine = .other
        return flaw
    }
}

extension Result<Certificate, Flaw> {
    /// Nil for an unreadable certificate.
    fileprivate var certificate: Certificate? {
        guard case .success(let certificate) = self else { return nil }
        return certificate
    }
}

/// An app receipt whose signature was verified.
package struct VerifiedReceipt: Sendable {
    package let receipt: AppReceipt
    package let environment: AppStoreEnvironment
    package let bundleID: String
    /// When Apple created the receipt; it versions everything in it.
    package let creationDate: Timestamp
    /// SHA-256 of the signed content, independent of the signature and of the encoding.
    package let contentHash: [UInt8]
    /// The digest of Apple's signature.
    package let digest: SignedReceipt.Digest
}
