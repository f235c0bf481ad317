/// The App Store environment of a payload. Data of different environments never mixes.
package struct AppStoreEnvironment: OpenValue {
    package let rawValue: String

    package init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// Real purchases with real money.
    package static let production = AppStoreEnvironment(rawValue: "Production")
    /// Test purchases: development, TestFlight and App Review.
    package static let sandbox = AppStoreEnvironment(rawValue: "Sandbox")
    /// StoreKit testing in Xcode; not signed by Apple.
    package static let xcode = AppStoreEnvironment(rawValue: "Xcode")
    /// StoreKit testing on a device; not signed by Apple.
    package static let localTesting = AppStoreEnvironment(rawValue: "LocalTesting")

    package static let known: Set = [production, sandbox, xcode, localTesting]
}
