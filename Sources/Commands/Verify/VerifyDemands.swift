import AppStore
import AppStoreVerification

/// What somebody who looks at signed things wants them to be.
struct VerifyDemands {
    /// Nil takes any, and so does nil of the next two.
    let bundleIDs: [String]?
    let environments: Set<AppStoreEnvironment>?
    let appAppleID: Int64?
    /// Nil trusts Apple's.
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

    /// For receipts, which Apple signs below another root.
    var receiptPolicy: ReceiptPolicy {
        ReceiptPolicy(
            apps: bundleIDs?.map { App(bundleID: $0, appAppleID: nil) },
            environments: environments,
            roots: roots ?? [.appleRootCA]
        )
    }

    /// What is said of a receipt: a reason instead of a rejection, since the app's number is asked for here only.
    enum ReceiptFinding {
        case valid(VerifiedReceipt)
        case invalid(ReceiptReason, detail: String?, receipt: AppReceipt?)
    }

    func verify(_ receipt: ArraySlice<UInt8>, receivedAt now: Timestamp) -> ReceiptFinding {
        switch ReceiptVerifier(policy: receiptPolicy).verify(receipt, receivedAt: now) {
        case .invalid(let rejection): return .invalid(rejection.reason, detail: rejection.detail, receipt: rejection.receipt)
        case .valid(let verified):
            // The sandbox writes no number.
            if let appAppleID, verified.environment == .production, let number = verified.receipt.appItemID, number != appAppleID {
                return .invalid(.wrongAppAppleID, detail: nil, receipt: verified.receipt)
            }
            return .valid(verified)
        }
    }
}
