import AppStore
import HTTPServing

/// What the key of a request covers. The database checks the key again in each statement.
struct KeyScope: Hashable, Sendable, CustomStringConvertible {
    let keyID: Int32
    /// The hash by which the database finds the key; never logged.
    let hash: [UInt8]
    /// The apps; nil for any.
    let bundleIDs: [String]?
    let environments: Set<AppStoreEnvironment>
    let verbs: Set<Verb>

    /// - Throws: status 403 with the first verb when the key covers none of them.
    func check(anyOf verbs: [Verb]) throws(Problem) {
        guard let first = verbs.first, self.verbs.isDisjoint(with: verbs) else { return }
        throw .verbNotCovered(first)
    }

    /// - Throws: status 403 when the key does not cover the environment.
    func check(_ environment: AppStoreEnvironment) throws(Problem) {
        guard environments.contains(environment) else { throw .environmentNotCovered }
    }

    /// The app of an order: the named app, or else the only app of the key; nil for any.
    ///
    /// - Throws: status 403 for an app that the key does not cover; 400 when the key covers several and none is named.
    func bundleID(named name: String?) throws(Problem) -> String? {
        guard let bundleIDs else { return name }
        guard let name else {
            guard bundleIDs.count == 1 else { throw .invalidMember("bundleId", "bundleId must be there: the key is for several apps.") }
            return bundleIDs[0]
        }
        guard bundleIDs.contains(name) else { throw .appNotCovered }
        return name
    }

    var description: String { "key \(keyID)" }
}
