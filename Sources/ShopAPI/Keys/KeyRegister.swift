package import AppStore
package import Postgres
import SQL

/// The keys of the interface, for who may make and revoke them: role `appstore_operator`.
package struct KeyRegister: Sendable {
    /// What is known of a key; the key itself is not.
    package struct Entry: Sendable {
        /// What it is revoked by.
        package let keyID: Int32
        /// Who has it.
        package let name: String
        /// The apps that it is for; nil for any.
        package let bundleIDs: [String]?
        package let environments: [String]
        package let verbs: [String]
        package let createdAt: Timestamp
        package let revokedAt: Timestamp?
        /// To the hour.
        package let lastUsedAt: Timestamp?
    }

    private let connection: Connection

    /// The register that a connection reaches.
    package init(_ connection: Connection) {
        self.connection = connection
    }

    /// Keeps the hash of a new key and returns the key's number.
    package func add(
        _ key: APIKey,
        name: String,
        bundleIDs: [String]?,
        environments: [AppStoreEnvironment],
        verbs: [Verb]
    ) async throws -> Int32 {
        let rows = try await connection.query(
            Statement(
                .shopMakeKey,
                [
                    "key_hash": key.hash, "name": name, "bundle_ids": bundleIDs, "environments": environments.map(\.rawValue),
                    "verbs": verbs.map(\.rawValue),
                ]
            )
        )
        return try rows[rows.startIndex].decode("key_id")
    }

    /// All keys, the oldest first.
    package func entries() async throws -> [Entry] {
        try await connection.query(Statement(.shopListKeys)).map(Entry.init)
    }

    /// Ends a key; false when that was done before.
    ///
    /// - Throws: `PostgresError`, with state `no_data_found` for a number that no key has.
    package func revoke(_ keyID: Int32) async throws -> Bool {
        let rows = try await connection.query(Statement(.shopRevokeKey, ["key_id": keyID]))
        return try rows[rows.startIndex].decode("revoked")
    }
}

extension KeyRegister.Entry {
    fileprivate init(_ row: Row) throws {
        keyID = try row.decode("key_id")
        name = try row.decode("name")
        bundleIDs = try row.decode("bundle_ids")
        environments = try row.decode("environments")
        verbs = try row.decode("verbs")
        createdAt = try row.decode("created_at", as: PostgresTimestamp.self).timestamp
        revokedAt = try row.decode("revoked_at", as: PostgresTimestamp?.self)?.timestamp
        lastUsedAt = try row.decode("last_used_at", as: PostgresTimestamp?.self)?.timestamp
    }
}
