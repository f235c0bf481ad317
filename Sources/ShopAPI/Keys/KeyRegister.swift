package import AppStore
package import Postgres
import SQL

/// The keys of the API, for role `appstore_operator`, which may create and revoke them.
package struct KeyRegister: Sendable {
    /// The stored record of a key, without the key itself.
    package struct Entry: Sendable {
        /// The number by which the key is revoked.
        package let keyID: Int32
        /// The name of its holder.
        package let name: String
        /// The apps that the key covers; nil for any.
        package let bundleIDs: [String]?
        package let environments: [String]
        package let verbs: [String]
        package let createdAt: Timestamp
        /// Nil for a key that does not expire.
        package let expiresAt: Timestamp?
        package let revokedAt: Timestamp?
        /// A use in the hour of the latest one.
        package let lastUsedAt: Timestamp?
    }

    private let connection: Connection

    /// Creates a register on a connection.
    package init(_ connection: Connection) {
        self.connection = connection
    }

    /// Stores the hash of a new key and returns the number of the key.
    ///
    /// - Parameter end: when the key expires; nil for never.
    /// - Throws: `PostgresError`, with state `unique_violation` when a living key has the name.
    package func add(
        _ key: APIKey,
        name: String,
        bundleIDs: [String]?,
        environments: [AppStoreEnvironment],
        verbs: [Verb],
        until end: KeyEnd? = nil
    ) async throws -> Int32 {
        let rows = try await connection.query(
            .shopMakeKey(
                keyHash: key.hash,
                name: name,
                bundleIDs: bundleIDs,
                environments: environments.map(\.rawValue),
                verbs: verbs.map(\.rawValue),
                expiresAt: end?.instant,
                expiresIn: end?.duration
            )
        )
        return try rows[rows.startIndex].decode("key_id")
    }

    /// All keys, oldest first.
    package func entries() async throws -> [Entry] {
        try await connection.query(.shopListKeys()).map(Entry.init)
    }

    /// Revokes a key; false when it was already revoked.
    ///
    /// - Throws: `PostgresError`, with state `no_data_found` for an unknown number.
    package func revoke(_ keyID: Int32) async throws -> Bool {
        let rows = try await connection.query(.revokeAPIKey(keyID: keyID))
        return try rows[rows.startIndex].decode(0)
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
        expiresAt = try row.decode("expires_at", as: PostgresTimestamp?.self)?.timestamp
        revokedAt = try row.decode("revoked_at", as: PostgresTimestamp?.self)?.timestamp
        lastUsedAt = try row.decode("last_used_at", as: PostgresTimestamp?.self)?.timestamp
    }
}

/// When a key expires: an instant, or a time from its creation on, which the database measures.
package enum KeyEnd: Hashable, Sendable {
    case at(Timestamp)
    case after(seconds: Int64)

    /// The units of a duration, in seconds.
    private static let units: [Character: Int64] = ["s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800]
    /// A hundred years.
    private static let longest: Int64 = 36_525 * 86_400

    /// Parses `2027-01-31T12:00:00Z`, `2027-01-31` (its beginning in UTC), or a whole number of s, m, h, d or w, such as `90d`; nil for other
    /// text, and for a duration of more than a hundred years.
    package init?(_ text: String) {
        if let instant = Timestamp(rfc3339: Array(text.utf8)) ?? Timestamp(rfc3339: Array("\(text)T00:00:00Z".utf8)) {
            self = .at(instant)
        } else if let unit = text.last.flatMap({ Self.units[$0] }), let count = Int64(text.dropLast()),
            (1...Self.longest / unit).contains(count)
        {
            self = .after(seconds: count * unit)
        } else {
            return nil
        }
    }

    var instant: PostgresTimestamp? {
        if case .at(let instant) = self { PostgresTimestamp(millisecondsSince1970: instant.millisecondsSince1970) } else { nil }
    }

    var duration: Duration? {
        if case .after(let seconds) = self { .seconds(seconds) } else { nil }
    }
}
