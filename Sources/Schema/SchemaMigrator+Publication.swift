import Postgres

extension SchemaMigrator {
    /// Makes the publication of the feed for logical replication, or brings it up to date.
    ///
    /// - Parameter withUsers: whether subscribers get the names of users.
    /// - Returns: the server's `wal_level`.
    package func publishFeed(withUsers: Bool) async throws -> String {
        try await actAsOwner()
        try await transaction("publication") { try await connection.execute("SELECT appstore.publish_feed(\(withUsers))") }
        let rows = try await connection.query("SELECT current_setting('wal_level') AS level")
        try await connection.runScript("RESET ROLE; RESET ALL")
        return try rows[0].decode("level")
    }
}
