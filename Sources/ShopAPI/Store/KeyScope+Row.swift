import AppStore
import Postgres

extension KeyScope {
    /// - Parameter hash: what the row was found by.
    init(_ row: Row, hash: [UInt8]) throws {
        self.init(
            keyID: try row.decode("key_id"),
            hash: hash,
            bundleIDs: try row.decode("bundle_ids"),
            environments: Set(try row.decode("environments", as: [String].self).map(AppStoreEnvironment.init(rawValue:))),
            // A verb that this version does not know permits nothing.
            verbs: Set(try row.decode("verbs", as: [String].self).compactMap(Verb.init(rawValue:)))
        )
    }
}
