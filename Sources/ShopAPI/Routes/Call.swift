import AppStore
import HTTPServing
import HTTPTypes
import Hummingbird

/// A request whose key covers what it asks for.
struct Call: Sendable {
    let request: Request
    /// Of the path's variable segments.
    let values: PathValues
    let key: KeyScope

    /// A user in the path.
    func user(_ name: String = "user") throws(Problem) -> String {
        let user = values[name]
        guard (1...255).contains(user.utf8.count), !user.utf8.contains(0) else {
            throw .invalidParameter(name, "\(name) must have 1 to 255 bytes, without U+0000.")
        }
        return user
    }

    /// An originalTransactionId in the path.
    ///
    /// - Throws: status 404 for text that none can be.
    func contract() throws(Problem) -> String {
        let contract = values["originalTransactionId"]
        guard (1...255).contains(contract.utf8.count), !contract.utf8.contains(0) else { throw .noSuchContract }
        return contract
    }

    /// The environment that a request asks for in its query or in its body: Production unless it names another.
    ///
    /// - Throws: status 400 when it names two, 403 when the key is not for it.
    func environment(_ query: RequestQuery, _ body: RequestObject? = nil) throws(Problem) -> AppStoreEnvironment {
        let (asked, said) = (try query.environment(), try body?.environment())
        if let asked, let said, asked != said {
            throw .invalidMember("environment", "environment must be the same in the query and in the body.")
        }
        let environment = asked ?? said ?? .production
        try key.check(environment)
        return environment
    }
}
