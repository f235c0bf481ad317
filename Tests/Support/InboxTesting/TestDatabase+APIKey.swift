import Postgres
package import PostgresTesting

extension TestDatabase {
    /// Makes a key of the HTTP API with all verbs, and returns its hash, by which the `api_` functions find it.
    package func makeAPIKey(apps: [String]? = nil, environments: [String] = ["Production", "Sandbox"]) async throws -> [UInt8] {
        let hash = (0..<32).map { _ in UInt8.random(in: .min ... .max) }
        let verbs = [
            "orders:create", "orders:read", "transactions:submit", "receipts:submit", "events:read", "entitlements:read",
            "subscriptions:read", "contracts:link", "feed:read", "feed:consume", "consumption:read", "consumption:answer", "consents:write",
            "inquiries:make", "contracts:extend", "contracts:set-token",
        ]
        try await withConnection(user: "appstore_operator") { connection in
            _ = try await connection.query(
                """
                SELECT appstore.make_api_key(\(hash), gen_random_uuid()::text, \(apps), \(environments)::text[]::appstore.environment[],
                                             \(verbs))
                """
            )
        }
        return hash
    }
}
