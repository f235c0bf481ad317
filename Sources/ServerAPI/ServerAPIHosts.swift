import AppStore

/// Where the App Store Server API is.
package struct ServerAPIHosts: Hashable, Sendable {
    /// Scheme, host and port.
    package var production = "https://api.storekit.apple.com"
    package var sandbox = "https://api.storekit-sandbox.apple.com"

    package init() {}

    func url(of environment: AppStoreEnvironment) -> String { environment == .sandbox ? sandbox : production }
}
