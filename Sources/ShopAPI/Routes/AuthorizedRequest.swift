import AppStore
import HTTPServing

/// A request whose key covers the verb of the route.
struct AuthorizedRequest: Sendable {
    let httpRequest: Request
    let key: KeyScope

    /// The user named in the path.
    func user(_ name: String = "user") throws(Problem) -> String {
        let user = httpRequest.values[name, default: ""]
        guard user.isName else { throw .invalidParameter(name, "\(name) must have 1 to 255 characters, without U+0000.") }
        return user
    }

    /// The originalTransactionId in the path.
    ///
    /// - Throws: status 404 for text that cannot be an originalTransactionId.
    func contract() throws(Problem) -> String {
        let contract = httpRequest.values["originalTransactionId", default: ""]
        guard contract.isName else { throw .noSuchContract }
        return contract
    }

    /// The environment named in the query; Production unless it names one.
    ///
    /// - Throws: status 403 when the key does not cover the environment.
    func environment(_ query: RequestQuery) throws(Problem) -> AppStoreEnvironment {
        let environment = try query.environment() ?? .production
        try key.check(environment)
        return environment
    }
}
