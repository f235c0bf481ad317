import AppStore
import Postgres

extension KeyScope {
    /// - Parameter hash: the hash by which the row was found.
    init(_ row: Row, hash: [UInt8]) throws {
        self.init(
            keyID: try row.decode("key_id"),
            hash: hash,
            bundleIDs: try row.decode("bundle_ids"),
            environments: Set(try row.decode("environments", as: [String].self).map(AppStoreEnvironment.init(rawValue:))),
            // An unknown verb, of another version, grants nothing.
            verbs: Set(try row.decode("verbs", as: [String].self).compactMap(Verb.init(rawValue:)))
        )
    }
}
