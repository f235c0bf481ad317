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

    /// The environment named in the query or in the body; Production without either.
    ///
    /// - Throws: status 400 when query and body differ, 403 when the key does not cover the environment.
    func environment(_ query: RequestQuery, _ body: RequestObject? = nil) throws(Problem) -> AppStoreEnvironment {
        let (inQuery, inBody) = (try query.environment(), try body?.environment())
        if let inQuery, let inBody, inQuery != inBody {
            throw .invalidMember("environment", "environment must be the same in the query and in the body.")
        }
        let environment = inQuery ?? inBody ?? .production
        try key.check(environment)
        return environment
    }
}
