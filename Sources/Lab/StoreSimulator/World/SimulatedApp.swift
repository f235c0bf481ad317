package import AppStore

/// The app whose customers are simulated, and where they buy.
package struct SimulatedApp: Hashable, Sendable {
    /// CFBundleIdentifier.
    package var bundleID: String
    /// Apple's number of the app; real Sandbox notifications of apps that were never published lack it.
    package var appAppleID: Int64?
    /// The environment of its transactions.
    package var environment: AppStoreEnvironment
    /// CFBundleVersion of the build that made the purchases.
    package var bundleVersion: String
    /// The customer's country.
    package var storefront: Storefront

    package init(
        bundleID: String,
        appAppleID: Int64? = nil,
        environment: AppStoreEnvironment = .production,
        bundleVersion: String = "1",
        storefront: Storefront = .unitedStates
    ) {
        self.bundleID = bundleID
        self.appAppleID = appAppleID
        self.environment = environment
        self.bundleVersion = bundleVersion
        self.storefront = storefront
    }
}

/// The App Store of one country.
package struct Storefront: Hashable, Sendable {
    /// ISO 3166-1 alpha-3.
    package var countryCode: String
    /// Apple's number of the storefront.
    package var id: String
    /// ISO 4217.
    package var currency: String

    package init(countryCode: String, id: String, currency: String) {
        self.countryCode = countryCode
        self.id = id
        self.currency = currency
    }

    package static let unitedStates = Storefront(countryCode: "USA", id: "143441", currency: "USD")
    package static let germany = Storefront(countryCode: "DEU", id: "143443", currency: "EUR")
    package static let australia = Storefront(countryCode: "AUS", id: "143460", currency: "AUD")
    package static let japan = Storefront(countryCode: "JPN", id: "143462", currency: "JPY")
}
