package import AppStore

/// The accepted apps and environments of payloads, and the trusted roots.
package struct VerificationPolicy: Sendable {
    /// The accepted apps; nil accepts any.
    package var apps: [App]?
    /// The accepted environments; nil accepts any that the root is trusted for.
    package var environments: Set<AppStoreEnvironment>?
    /// The only trust anchors.
    package var roots: [TrustedRoot]
    /// An `appAppleId` required of Production payloads of any bundle, for inspection; nil checks nothing.
    package var appAppleID: Int64?
    /// How far a signedDate may lie after the time of receipt, because clocks differ.
    package var clockTolerance: Duration = .seconds(5 * 60)
    /// The revoked certificates below these roots, as far as they are known. Chains of receipts are not looked up.
    package var revocations = Revocations()

    package init(apps: [App]?, environments: Set<AppStoreEnvironment>?, roots: [TrustedRoot] = [.appleRootCAG3], appAppleID: Int64? = nil) {
        self.apps = apps
        self.environments = environments
        self.roots = roots
        self.appAppleID = appAppleID
    }
}
