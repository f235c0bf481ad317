package import AppStore

/// The accepted apps and environments of receipts, and the trusted roots.
package struct ReceiptPolicy: Sendable {
    /// The accepted apps; nil accepts any.
    package var apps: [App]?
    /// The accepted environments; nil accepts any that the root is trusted for.
    package var environments: Set<AppStoreEnvironment>?
    /// The only trust anchors.
    package var roots: [TrustedRoot]
    /// How far a creation date may lie after the time of receipt, because clocks differ.
    package var clockTolerance: Duration = .seconds(5 * 60)

    package init(apps: [App]?, environments: Set<AppStoreEnvironment>?, roots: [TrustedRoot] = [.appleRootCA]) {
        self.apps = apps
        self.environments = environments
        self.roots = roots
    }

    /// Takes apps, environments and clock tolerance from the policy for JWS.
    package init(_ policy: VerificationPolicy, roots: [TrustedRoot] = [.appleRootCA]) {
        self.init(apps: policy.apps, environments: policy.environments, roots: roots)
        clockTolerance = policy.clockTolerance
    }
}
