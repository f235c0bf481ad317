package import AppStore

/// A request that was answered.
package struct ServerAPICall: Hashable, Sendable {
    package let endpoint: ServerAPIEndpoint?
    package let environment: AppStoreEnvironment
    /// The app of the token; nil when the token was refused.
    package let bundleID: String?
    /// Why the token was refused.
    package let flaw: ServerAPITokenFlaw?
    /// The HTTP status of the answer.
    package let status: Int
    /// The arguments of the path.
    package let arguments: [String]
    /// The query in its order.
    package let query: [ServerAPIRequest.Parameter]
    package let at: Timestamp
}
