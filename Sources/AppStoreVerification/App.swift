/// An app whose notifications and purchases are accepted.
package struct App: Hashable, Sendable {
    /// The bundle identifier, as in `com.example.app`.
    package var bundleID: String
    /// The app's number in the App Store, required of Production payloads; nil checks nothing.
    package var appAppleID: Int64?

    package init(bundleID: String, appAppleID: Int64? = nil) {
        self.bundleID = bundleID
        self.appAppleID = appAppleID
    }
}
