import AppStore
import HTTPServing

/// What the key of a request covers.
struct KeyScope: Hashable, Sendable {
    let keyID: Int32
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

    /// Whether the holder of the key may see a client's event: it is of one of the key's environments, and of one of its apps. The app is
    /// the verified one where there is one, else any that the submitting key was for.
    func covers(_ event: ClientEvent) -> Bool {
        guard let scope = event.scope, environments.contains(scope.environment) else { return false }
        guard let bundleIDs else { return true }
        if let bundleID = event.bundleID { return bundleIDs.contains(bundleID) }
        return scope.bundleIDs.map { Set($0).isSubset(of: bundleIDs) } ?? false
    }
}
