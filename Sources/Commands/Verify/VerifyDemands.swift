import AppStore
import AppStoreVerification

/// The conditions under which the command accepts signed data.
struct VerifyDemands {
    /// Nil accepts any; the same for the next two.
    let bundleIDs: [String]?
    let environments: Set<AppStoreEnvironment>?
    let appAppleID: Int64?
    /// Nil trusts Apple's roots.
    let roots: [TrustedRoot]?

    /// For JWS.
    var policy: VerificationPolicy {
        VerificationPolicy(
            apps: bundleIDs?.map { App(bundleID: $0, appAppleID: nil) },
            environments: environments,
            roots: roots ?? [.appleRootCAG3],
            appAppleID: appAppleID
        )
    }

    /// For receipts, which chain to another Apple root.
    var receiptPolicy: ReceiptPolicy {
        ReceiptPolicy(
            apps: bundleIDs?.map { App(bundleID: $0, appAppleID: nil) },
            environments: environments,
            roots: roots ?? [.appleRootCA]
        )
    }

    /// The verdict on a receipt. It has a reason instead of a rejection, since only this command checks the app's Apple id.
    enum ReceiptFinding {
        case valid(VerifiedReceipt)
        case invalid(ReceiptReason, detail: String?, receipt: AppReceipt?)
    }

    func verify(_ receipt: ArraySlice<UInt8>, receivedAt now: Timestamp) -> ReceiptFinding {
        switch ReceiptVerifier(policy: receiptPolicy).verify(receipt, receivedAt: now) {
        case .invalid(let rejection): return .invalid(rejection.reason, detail: rejection.detail, receipt: rejection.receipt)
        case .valid(let verified):
            // Receipts of the sandbox hold no Apple id.
            if let appAppleID, verified.environment == .production, let number = verified.receipt.appItemID, number != appAppleID {
                return .invalid(.wrongAppAppleID, detail: nil, receipt: verified.receipt)
            }
            return .valid(verified)
        }
    }
}
