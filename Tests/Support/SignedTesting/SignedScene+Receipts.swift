package import AppStore
package import AppStoreVerification
package import StoreSimulator

extension SignedScene {
    /// Shared, because generating RSA keys takes longer than most tests.
    private static let receiptAuthority = Result { try ReceiptAuthority.generate(AuthorityOptions(around: now)) }

    package static func receiptSigner() throws -> ReceiptSigner { ReceiptSigner(authority: try receiptAuthority.get()) }

    /// Accepts receipts of ``app`` in Production and Sandbox.
    package static func receiptVerifier() throws -> ReceiptVerifier {
        ReceiptVerifier(
            policy: VerificationPolicy(
                apps: [App(bundleID: app.bundleID, appAppleID: app.appAppleID)],
                environments: [.production, .sandbox],
                roots: [try TrustedRoot(receiptAuthority.get().root, environments: nil)]
            )
        )
    }

    /// Throws the rejection of an invalid receipt.
    package static func verify(receipt base64: String, at instant: Timestamp = now) throws -> VerifiedReceipt {
        switch try receiptVerifier().verify(base64, receivedAt: instant) {
        case .valid(let verified): return verified
        case .invalid(let rejection): throw rejection
        }
    }
}
