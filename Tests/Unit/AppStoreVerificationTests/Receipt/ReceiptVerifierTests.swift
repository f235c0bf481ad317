import AppStore
import AppStoreVerification
import OpenSSL
import StoreSimulator
import Testing

struct ReceiptVerifierTests {
    @Test(arguments: ReceiptAuthority.Generation.allCases, ReceiptEncoding.allCases)
    func `receipts of both generations and encodings are valid, with signed attributes and without`(
        generation: ReceiptAuthority.Generation,
        encoding: ReceiptEncoding
    ) throws {
        for hasSignedAttributes in [false, true] {
            var signer = ReceiptSigner(authority: try TestReceipts.authority.get(), generation: generation, encoding: encoding)
            signer.hasSignedAttributes = hasSignedAttributes
            let verified = try #require(try TestReceipts.verify(signer.sign(TestReceipts.receipt)).accepted)
            #expect(verified.receipt == TestReceipts.receipt)
            #expect(verified.bundleID == TestReceipts.bundleID && verified.environment == .production)
            #expect(verified.creationDate == TestReceipts.now)
            #expect(verified.digest == (generation == .sha1 ? .sha1 : .sha256))
            #expect(verified.contentHash == Digest.sha256(TestReceipts.receipt.encoded))
        }
    }

    @Test func `base64 with line breaks is accepted`() throws {
        let text = Base64.encode(try TestReceipts.sign())
        let lines = stride(from: 0, to: text.count, by: 76).map { text.dropFirst($0).prefix(76) }.joined(separator: "\r\n")
        for input in [text, lines, " \(text)\n"] {
            #expect(try TestReceipts.verify(Array(input.utf8)).accepted?.receipt == TestReceipts.receipt)
        }
    }

    @Test func `a root in the receipt is never trusted`() throws {
        let untrusted = try ReceiptAuthority.generate(AuthorityOptions(around: TestReceipts.now))
        let forged = try ReceiptSigner(authority: untrusted).sign(TestReceipts.receipt)
        let reason = try TestReceipts.verify(forged).rejection?.reason
        #expect(reason == .certificateSignatureInvalid || reason == .untrustedRoot)
    }

    @Test func `SHA-1 is accepted only for receipts' certificates`() throws {
        let authority = try TestReceipts.authority.get()
        let chain = try authority.chain(.sha1)
        let second = TestReceipts.now.millisecondsSince1970 / 1000
        func validate(_ allowingSHA1: Bool) -> ChainVerdict {
            CertificateChain.validate(
                leaf: chain.leaf,
                intermediates: [chain.intermediate],
                roots: [authority.root],
                at: second,
                allowingSHA1: allowingSHA1
            )
        }
        guard case .accepted = validate(true), case .refused(let refusal) = validate(false) else {
            Issue.record("SHA-1 is accepted by default, or refused for receipts")
            return
        }
        #expect(refusal.problem == .tooWeak)
    }

    @Test func `unrelated and unreadable certificates in the receipt are ignored`() throws {
        let untrusted = try ReceiptAuthority.generate(AuthorityOptions(around: TestReceipts.now)).chain(.sha256)
        var envelope = try TestReceipts.envelope()
        var certificates = try ReceiptCertificates()
        envelope.signerIdentifier = [[0x30, 0x00], envelope.signerIdentifier[1]]
        certificates.leaf.serialNumber = Array(envelope.signerIdentifier[1].dropFirst(2))
        let sameSerialNumber = try certificates.envelope().0.certificates[0]
        let unsupported = HandmadeCertificate(key: HandmadeCertificate.ownCurve).der
        let genuine = envelope.certificates
        for other in [sameSerialNumber, untrusted.leaf.der, untrusted.intermediate.der, unsupported, [0x30, 0x03, 1, 1, 1]] {
            envelope.certificates = [other] + genuine
            #expect(try TestReceipts.verify(envelope.encoded()).accepted != nil)
        }
    }

    @Test func `the chain is validated at the creation date, not at the time of receipt`() throws {
        let later = TestReceipts.now.advanced(by: .seconds(20 * 365 * 86_400))
        let verifier = ReceiptVerifier(policy: try TestReceipts.policy())
        guard case .valid = verifier.verify(try TestReceipts.sign()[...], receivedAt: later) else {
            Issue.record("refused")
            return
        }
    }

    @Test func `the sandbox has no app number, and any is accepted when none is configured`() throws {
        var receipt = TestReceipts.receipt
        receipt.receiptType = .productionSandbox
        receipt.appItemID = nil
        #expect(try TestReceipts.verify(TestReceipts.sign(receipt)).accepted?.environment == .sandbox)
        receipt.receiptType = .productionVPP
        receipt.appItemID = 5
        var policy = try TestReceipts.policy()
        policy.apps = [App(bundleID: TestReceipts.bundleID)]
        #expect(try TestReceipts.verify(TestReceipts.sign(receipt), policy).accepted?.environment == .production)
    }

    @Test func `the built-in root is Apple's and is trusted for receipts only`() throws {
        let root = TrustedRoot.appleRootCA
        let fingerprint = root.certificate.sha256Fingerprint.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
        #expect(fingerprint == "b0b1730ecbc7ff4505142c49f1295e6eda6bcaed7e2c68c5be91b5a11001f024")
        #expect(root.environments == [.production, .sandbox])
        #expect(!VerificationPolicy(apps: nil, environments: nil).roots.contains { $0.certificate == root.certificate })
    }
}
