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
    var policy: VerificationPolicy { policy(trusting: .appleRootCAG3) }

    /// For receipts, which chain to another Apple root.
    var receiptPolicy: VerificationPolicy { policy(trusting: .appleRootCA) }

    private func policy(trusting apple: TrustedRoot) -> VerificationPolicy {
        VerificationPolicy(
            apps: bundleIDs?.map { App(bundleID: $0, appAppleID: nil) },
            environments: environments,
            roots: roots ?? [apple],
            appAppleID: appAppleID
        )
    }
}
