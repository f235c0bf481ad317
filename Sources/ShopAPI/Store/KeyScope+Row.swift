import AppStore
import Postgres

extension KeyScope {
    init(_ row: Row) throws {
        self.init(
            keyID: try row.decode("key_id"),
            bundleIDs: try row.decode("bundle_ids"),
            environments: Set(try row.decode("environments", as: [String].self).map(AppStoreEnvironment.init(rawValue:))),
            // A verb that this version does not know opens nothing.
            verbs: Set(try row.decode("verbs", as: [String].self).compactMap(Verb.init(rawValue:)))
        )
    }
}
