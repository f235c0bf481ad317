package import AppStore

/// What a genuine payload must be about, and whose signature makes it genuine.
package struct VerificationPolicy: Sendable {
    /// The apps that are accepted; nil takes any.
    package var apps: [App]?
    /// The environments that are accepted; nil takes any that a root vouches for.
    package var environments: Set<AppStoreEnvironment>?
    /// The only anchors of trust.
    package var roots: [TrustedRoot]
    /// An `appAppleId` demanded of Production payloads whatever their bundle, for looking at things; nil asks nothing.
    package var appAppleID: Int64?
    /// How far a signedDate may lie after the time of receipt, since clocks differ.
    package var clockTolerance: Duration = .seconds(5 * 60)

    package init(apps: [App]?, environments: Set<AppStoreEnvironment>?, roots: [TrustedRoot] = [.appleRootCAG3], appAppleID: Int64? = nil) {
        self.apps = apps
        self.environments = environments
        self.roots = roots
        self.appAppleID = appAppleID
    }
}
