import OpenSSL
import Postgres

extension SQLAccess {
    /// The number of these bodies that the inbox does not hold exactly as sent.
    package func missing(_ bodies: [[UInt8]]) async throws -> Int {
        let hashes = bodies.map(Digest.sha256)
        return try await value(
            Int.self,
            """
            SELECT count(*) FROM unnest(\(hashes)) AS sent (hash)
            WHERE NOT EXISTS (SELECT FROM appstore.inbox AS i WHERE sha256(i.body) = sent.hash)
            """
        )
    }
}
