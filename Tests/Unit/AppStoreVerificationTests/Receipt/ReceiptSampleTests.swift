import AppStore
import AppStoreVerification
import Foundation
import Testing

/// Receipts that Apple signed, from outside the repository: files `*.receipt`, raw or in base64, in the folder `APPSTORE_INBOX_SAMPLES`.
enum ReceiptSamples {
    static let files: [URL] = {
        guard Samples.path != nil else { return [] }
        do {
            return try FileManager.default.contentsOfDirectory(at: Samples.folder, includingPropertiesForKeys: nil).filter {
                $0.pathExtension == "receipt"
            }
        } catch {
            return []
        }
    }()
}

@Suite(.enabled(if: !ReceiptSamples.files.isEmpty, "APPSTORE_INBOX_SAMPLES names no folder with receipts"))
struct ReceiptSampleTests {
    @Test(arguments: ReceiptSamples.files) func `Apple's receipts are valid below the built-in root, and Xcode's are refused`(file: URL)
        throws
    {
        let verifier = ReceiptVerifier(policy: VerificationPolicy(apps: nil, environments: nil, roots: [.appleRootCA]))
        let now = Timestamp(millisecondsSince1970: Int64(Date().timeIntervalSince1970 * 1000))
        let bytes = [UInt8](try Data(contentsOf: file))
        switch verifier.verify(bytes, receivedAt: now) {
        case .valid(let verified):
            #expect(verified.receipt.bundleID == verified.bundleID)
            let purchases = verified.receipt.purchases
            #expect(purchases.allSatisfy { $0.transactionID != nil && $0.productID != nil && $0.purchaseDate != nil && $0.quantity != nil })
            let json = try TestReceipts.verify(bytes).rejection?.reason
            #expect(json == .untrustedRoot || json == .certificateSignatureInvalid)
        case .invalid(let rejection):
            #expect(
                file.lastPathComponent.contains("xcode") && rejection.reason == .untrustedRoot,
                "\(file.lastPathComponent): \(rejection)"
            )
        }
    }
}
