package import AppStore

/// An app in one environment: what an account's limits, customers and notifications belong to.
package struct ServerAPIPlace: Hashable, Sendable {
    package var bundleID: String
    package var environment: AppStoreEnvironment

    package init(_ bundleID: String, _ environment: AppStoreEnvironment) {
        self.bundleID = bundleID
        self.environment = environment
    }
}
