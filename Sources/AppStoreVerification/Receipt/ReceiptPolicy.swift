package import AppStore

/// What a genuine receipt must be about, and whose signature makes it genuine.
package struct ReceiptPolicy: Sendable {
    /// The apps that are accepted; nil takes any.
    package var apps: [App]?
    /// The environments that are accepted; nil takes any that a root vouches for.
    package var environments: Set<AppStoreEnvironment>?
    /// The only anchors of trust.
    package var roots: [TrustedRoot]
    /// How far a creation date may lie after the time of receipt, since clocks differ.
    package var clockTolerance: Duration = .seconds(5 * 60)

    package init(apps: [App]?, environments: Set<AppStoreEnvironment>?, roots: [TrustedRoot] = [.appleRootCA]) {
        self.apps = apps
        self.environments = environments
        self.roots = roots
    }

    /// What is asked of receipts where this is asked of JWS, below other roots.
    package init(_ policy: VerificationPolicy, roots: [TrustedRoot] = [.appleRootCA]) {
        self.init(apps: policy.apps, environments: policy.environments, roots: roots)
        clockTolerance = policy.clockTolerance
    }
}
