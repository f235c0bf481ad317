import AppStore
import HTTPServing

/// What the key of a request permits. The database checks it again, with each statement that the key is sent with.
struct KeyScope: Hashable, Sendable, CustomStringConvertible {
    let keyID: Int32
    /// What the database finds the key by; never logged.
    let hash: [UInt8]
    /// The apps; nil for any.
    let bundleIDs: [String]?
    let environments: Set<AppStoreEnvironment>
    let verbs: Set<Verb>

    /// - Throws: status 403 when the key is not for this.
    func check(_ verb: Verb) throws(Problem) {
        guard verbs.contains(verb) else { throw .verbNotCovered(verb) }
    }

    /// - Throws: status 403 when the key is not for this environment.
    func check(_ environment: AppStoreEnvironment) throws(Problem) {
        guard environments.contains(environment) else { throw .environmentNotCovered }
    }

    /// The app that an order is for: the one that was named, else the only one of the key; nil for any.
    ///
    /// - Throws: status 403 for an app that is not the key's, 400 when the key has several and none was named.
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
