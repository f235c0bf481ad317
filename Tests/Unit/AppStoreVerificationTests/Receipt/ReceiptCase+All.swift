import AppStore
import OpenSSL
import StoreSimulator

@testable import AppStoreVerification

extension ReceiptCase {
    static let all = inputs + envelopes + chains + leaves + contents

    private static let inputs: [ReceiptCase] = [
        .input(.receiptEmpty, "no byte") { [] },
        .input(.receiptEmpty, "white space") { Array(" \r\n".utf8) },
        .input(.receiptTooLarge, "more than four megabytes") { [UInt8](repeating: 0x41, count: ReceiptVerifier.maximumByteCount + 1) },
        .input(.receiptNotBase64, "text") { Array("receipt!".utf8) },
        .input(.notAReceipt, "text in base64") { Array("aGVsbG8=".utf8) },
        .input(.transactionReceipt, "as text") { Array(#"{"signature" = "A"; "purchase-info" = "ew==";}"#.utf8) },
        .input(.transactionReceipt, "in base64") {
            Array(Base64.encode(Array(#"{"signature" = "A"; "purchase-info" = "ew==";}"#.utf8)).utf8)
        },
        .input(.receiptMalformed, "an empty sequence") { [0x30, 0x81, 0x00] },
        .input(.receiptMalformed, "trailing bytes") { try TestReceipts.sign() + [0] },
        .input(.receiptMalformed, "truncated") { try TestReceipts.sign().dropLast() },
    ]

    private static let envelopes: [ReceiptCase] = [
        .envelope(.notSignedData) { $0.contentType = ReceiptOID.data },
        .envelope(.contentMissing, "another type") { $0.encapsulatedType = ReceiptOID.signedData },
        .envelope(.contentMissing, "detached") { $0.content = nil },
        .envelope(.certificateCount) { $0.certificates = Array(repeating: $0.certificates[0], count: 5) },
        .envelope(.signerCount, "none") { $0.signerCount = 0 },
        .envelope(.signerCount, "two") { $0.signerCount = 2 },
        .envelope(.digestNotSupported, "SHA-384") { $0.digestAlgorithm = [0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x02] },
        .envelope(.signatureAlgorithmNotSupported, "RSASSA-PSS") { $0.signatureAlgorithm[8] = 0x0a },
        .envelope(.signatureAlgorithmNotSupported, "with SHA-1 beside SHA-256") { $0.signatureAlgorithm[8] = 0x05 },
        .envelope(.signedAttributesMalformed, "none") { $0.signedAttributes = [] },
        .envelope(.signedAttributesMalformed, "two digests") {
            let attributes = ReceiptEnvelope.attributes(digest: [1])
            $0.signedAttributes = attributes + [attributes[1]]
        },
        .envelope(.messageDigestMismatch) { $0.signedAttributes = ReceiptEnvelope.attributes(digest: SignatureDigest.sha256.hash([])) },
        .envelope(.signerCertificateMissing, "no certificate") { $0.certificates = [] },
        .envelope(.signerCertificateMissing, "another serial number") { $0.signerIdentifier = [[0x30, 0x00], [0x02, 0x01, 0x09]] },
        .envelope(.certificateMalformed) {
            $0.certificates[0].removeLast(); $0.certificates[0][3] &-= 1
        },
        .envelope(.certificateKeyUnsupported) {
            $0.certificates[0] = HandmadeCertificate(key: HandmadeCertificate.ownCurve).der
            $0.signerIdentifier = [[0x30, 0x00], HandmadeCertificate.serialNumber]
        },
        .envelope(.untrustedRoot, "no intermediate") { $0.certificates = [$0.certificates[0]] },
        .envelope(.signatureInvalid, "another signature") { $0.signature[9] ^= 1 },
        .envelope(.signatureInvalid, "another length") { $0.signature.removeLast() },
        .envelope(.signatureInvalid, "other content") { $0.content = $0.content.map { Array($0.dropLast()) + [($0.last ?? 0) ^ 1] } },
        .envelope(.signatureInvalid, "the digest of another generation") { $0.digestAlgorithm = ReceiptOID.sha1 },
        .envelope(.signatureInvalid, "unsigned attributes") {
            $0.signedAttributes = ReceiptEnvelope.attributes(digest: SignatureDigest.sha256.hash($0.content ?? []))
        },
        .envelope(.contentNotAttributes) { $0.content = [0x02, 0x01, 0x05] },
        .envelope(.contentNotAttributes, "an invalid creation date") {
            $0.content = [0x31, 0x10, 0x30, 0x0e, 0x02, 0x01, 0x0c, 0x02, 0x01, 0x01, 0x04, 0x06, 0x16, 0x04, 0x32, 0x30, 0x32, 0x35]
        },
    ]

    private static let chains: [ReceiptCase] = [
        Self(reason: .untrustedRoot, what: "another authority of the same name") {
            Attempt(input: try TestReceipts.sign(), policy: VerificationPolicy(apps: nil, environments: nil, roots: [.appleRootCA]))
        },
        .chain(.certificateSignatureInvalid, "of the intermediate") { $0.flaws = [.intermediateNotSignedByRoot] },
        .chain(.certificateSignatureInvalid, "of the leaf") { $0.flaws = [.leafNotSignedByIntermediate] },
        .chain(.certificateExpired) { $0.leafValidity.notAfter = TestReceipts.now.advanced(by: .seconds(-1)) },
        .chain(.certificateNotYetValid) { $0.intermediateValidity.notBefore = TestReceipts.now.advanced(by: .seconds(1)) },
        .chain(.intermediateNotCA) { $0.flaws = [.intermediateIsNoAuthority] },
        .chain(.intermediateKeyUsage) { $0.flaws = [.intermediateMayNotSignCertificates] },
        .chain(.intermediateMarkerMissing) { $0.flaws = [.intermediateWithoutMarker] },
        .chain(.leafIsCA) { $0.flaws = [.leafIsAuthority] },
        .chain(.leafKeyUsage) { $0.flaws = [.leafMayNotSign] },
        .chain(.leafMarkerMissing) { $0.flaws = [.leafWithoutMarker] },
    ]

    private static let leaves: [ReceiptCase] = [
        .leaf(.chainBroken, "a leaf directly below the root") { $0.isBelowRoot = true },
        .leaf(.pathTooLong) { $0.root.pathLength = 0 },
        .leaf(.unknownCriticalExtension) { $0.leaf.extensions.append(.init(oid: "1.2.3.4", isCritical: true)) },
        .leaf(.certificateTooWeak, "1024 bits") { $0.leafKey = try .generateRSA(bitCount: 1024) },
        .leaf(.leafKeyNotRSA) { $0.leafKey = try .generate(.p256) },
        .leaf(.certificateRefused, "a name outside the name constraints") {
            // Name constraints that permit another country only.
            let permitted: [UInt8] = [0x30, 0x0d, 0x31, 0x0b, 0x30, 0x09, 0x06, 0x03, 0x55, 0x04, 0x06, 0x13, 0x02, 0x41, 0x51]
            let subtree = [0x30, UInt8(permitted.count + 2), 0xa4, UInt8(permitted.count)] + permitted
            let constraints = [0x30, UInt8(subtree.count + 2), 0xa0, UInt8(subtree.count)] + subtree
            $0.intermediate.extensions.append(.init(oid: "2.5.29.30", isCritical: true, value: constraints))
        },
    ]

    private static let contents: [ReceiptCase] = [
        .content(.creationDateMissing) { $0.creationDate = nil },
        .content(.contentMalformed, "a bundle that is not text") {
            $0.bundleID = nil
            $0.otherAttributes.append(ReceiptAttribute(type: 2, value: [0x02, 0x01, 0x01]))
        },
        .content(.contentMalformed, "a malformed purchase") {
            $0.otherAttributes.append(ReceiptAttribute(type: 17, value: [0x30, 0x00]))
        },
        .content(.environmentMissing) { $0.receiptType = nil },
        .content(.environmentNotSupported) { $0.receiptType = .xcode },
        .content(.environmentNotTrustedByRoot, trustedFor: [.sandbox]) { _ in },
        .content(.wrongEnvironment, "an unknown one") { $0.receiptType = .init(rawValue: "ProductionMoon") },
        .content(.bundleMissing) { $0.bundleID = nil },
        .content(.wrongBundle) { $0.bundleID = "com.example.other" },
        .content(.wrongAppAppleID) { $0.appItemID = 1 },
        .content(.signedInTheFuture) { $0.creationDate = TestReceipts.now.advanced(by: .seconds(301)) },
    ]
}

/// Contents of object identifiers.
private enum ReceiptOID {
    static let data: [UInt8] = [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x07, 0x01]
    static let signedData: [UInt8] = [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x07, 0x02]
    static let sha1: [UInt8] = [0x2b, 0x0e, 0x03, 0x02, 0x1a]
}
