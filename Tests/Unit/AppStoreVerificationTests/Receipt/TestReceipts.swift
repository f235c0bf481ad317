import AppStore
import AppStoreVerification
import StoreSimulator

/// Receipts that are genuine below the tests' own root.
enum TestReceipts {
    /// 2025-01-01, the time of all tests.
    static let now = Timestamp(millisecondsSince1970: 1_735_689_600_000)
    static let bundleID = "com.example.app"
    static let appAppleID: Int64 = 1_234_567_890

    /// Shared, because generating RSA keys takes longer than most tests.
    static let authority = Result { try ReceiptAuthority.generate(AuthorityOptions(around: now)) }

    /// A receipt with two purchases and an unknown attribute.
    static var receipt: AppReceipt {
        var receipt = AppReceipt()
        receipt.receiptType = .production
        receipt.appItemID = appAppleID
        receipt.bundleID = bundleID
        receipt.bundleIDBytes = [0x0c, UInt8(bundleID.utf8.count)] + Array(bundleID.utf8)
        receipt.applicationVersion = "7"
        receipt.creationDate = now
        receipt.opaqueValue = [1, 2, 3]
        receipt.purchases = [purchase(1), purchase(2)]
        receipt.otherAttributes = [ReceiptAttribute(type: 9, value: [0x02, 0x01, 0x07])]
        return receipt
    }

    static func purchase(_ number: Int) -> InAppPurchase {
        var purchase = InAppPurchase()
        purchase.quantity = 1
        purchase.productID = "\(bundleID).plus"
        purchase.transactionID = "\(350_000_000_000_000 + number)"
        purchase.originalTransactionID = "350000000000001"
        purchase.purchaseDate = now.advanced(by: .seconds(-60 * number))
        purchase.originalPurchaseDate = now.advanced(by: .seconds(-9999))
        purchase.expiresDate = now.advanced(by: .seconds(60 * number))
        purchase.webOrderLineItemID = "\(350_000_000_000_000 + number)"
        purchase.productType = .autoRenewableSubscription
        return purchase
    }

    static func sign(_ receipt: AppReceipt = receipt, _ generation: ReceiptAuthority.Generation = .sha256) throws -> [UInt8] {
        try ReceiptSigner(authority: authority.get(), generation: generation).sign(receipt)
    }

    static func envelope(_ generation: ReceiptAuthority.Generation = .sha256) throws -> ReceiptEnvelope {
        try ReceiptEnvelope(signing: receipt.encoded, with: authority.get(), generation)
    }

    /// Trusts the tests' root for `environments` (nil: any) and accepts the tests' app.
    static func policy(trustedFor environments: Set<AppStoreEnvironment>? = nil) throws -> VerificationPolicy {
        VerificationPolicy(
            apps: [App(bundleID: bundleID, appAppleID: appAppleID)],
            environments: [.production, .sandbox],
            roots: [try TrustedRoot(try authority.get().root, environments: environments)]
        )
    }

    static func verify(_ input: [UInt8], _ policy: VerificationPolicy? = nil) throws -> Verdict<VerifiedReceipt> {
        ReceiptVerifier(policy: try policy ?? Self.policy()).verify(input[...], receivedAt: now)
    }
}

extension Verdict<VerifiedReceipt> {
    var accepted: VerifiedReceipt? {
        guard case .valid(let receipt) = self else { return nil }
        return receipt
    }
}

extension Verdict {
    var rejection: Rejection? {
        guard case .invalid(let rejection) = self else { return nil }
        return rejection
    }
}
