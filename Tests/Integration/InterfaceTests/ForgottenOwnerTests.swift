import Foundation
import InboxTesting
import Postgres
import Testing

/// What a forgotten user owned may be claimed by a post that comes afterwards. Such a post comes on day 5000.
struct ForgottenOwnerTests {
    private let token = UUID()

    /// `charge user` of each order, then of each contract.
    private func users(_ ledger: TestLedger) async throws -> [String] {
        try await ledger.lines(
            """
            SELECT concat_ws(' ', kind, id, CASE WHEN starts_with(user_id, 'forgotten:') THEN 'alias' ELSE user_id END)
            FROM (SELECT 1, 'order', transaction_id, user_id FROM appstore.orders
                  UNION ALL SELECT 2, 'contract', original_transaction_id, user_id FROM appstore.contracts) AS f (part, kind, id, user_id)
            ORDER BY part, id
            """
        )
    }

    @Test func `the next post of what a forgotten user ordered makes its user the owner, and a refused one before does not`() async throws {
        try await TestLedger.with { ledger in
            try await ledger.makeOrder(token, user: "anna")
            try await ledger.put(Charge("1000", onDay: 0, token: token), Charge("1001", onDay: 30, token: token))
            try await ledger.submit("1000", by: "berta", onDay: 1)
            let alias = try await ForgetScene.forget("anna", in: ledger)
            #expect(try await ledger.lines("SELECT alias FROM appstore.forgotten_users") == [alias])
            try await ledger.put(Charge("1002", onDay: 60, token: token))
            #expect(try await users(ledger) == ["order 1000 alias", "order 1001 alias", "order 1002 alias", "contract 1000 alias"])
            try await ledger.submit("1001", by: "carla", onDay: 5000)
            try await ledger.submit("1001", by: "dora", onDay: 5001)
            #expect(try await users(ledger) == ["order 1000 alias", "order 1001 alias", "order 1002 alias", "contract 1000 carla"])
            let listed = try await ledger.lines("SELECT user_id || ' ' || owner_user_id FROM appstore.unmatched ORDER BY 1")
            #expect(listed == ["berta carla", "dora carla"])
        }
    }

    @Test func `what a forgotten user posted is the next user's who posts it, also of several in turn`() async throws {
        try await TestLedger.with { ledger in
            try await ledger.put(Charge("1000", onDay: 0), Charge("1001", onDay: 4999))
            try await ledger.submit("1000", by: "anna", onDay: 1)
            try await ledger.submit("1000", by: "berta", onDay: 2)
            _ = try await ForgetScene.forget("anna", in: ledger)
            try await ledger.submit("1001", by: "carla", onDay: 5000)
            #expect(try await users(ledger) == ["order 1000 alias", "order 1001 carla", "contract 1000 carla"])
            try await ledger.run("UPDATE appstore.client_posts SET received_at = now() WHERE user_id = 'carla'")
            _ = try await ForgetScene.forget("carla", in: ledger)
            try await ledger.submit("1001", by: "dora", onDay: 5001)
            #expect(try await users(ledger) == ["order 1000 alias", "order 1001 dora", "contract 1000 dora"])
        }
    }

    @Test func `a post claims nothing where a living user took over from the forgotten one`() async throws {
        try await TestLedger.with { ledger in
            try await ledger.makeOrder(token, user: "anna")
            try await ledger.put(Charge("1000", onDay: 0, token: token))
            try await ledger.link(to: "berta", onDay: 10)
            _ = try await ForgetScene.forget("anna", in: ledger)
            try await ledger.submit("1000", by: "carla", onDay: 5000)
            #expect(try await users(ledger) == ["order 1000 alias", "contract 1000 berta"])
        }
    }

    @Test func `a user's token and the user of an unknown token's order are replaced, and the token can be set again`() async throws {
        try await TestLedger.with { ledger in
            let unknown = UUID()
            try await ledger.run("SELECT appstore.set_user_token(\(token), \(ForgetScene.name))", as: "appstore_backend")
            try await ledger.put(Charge("1000", onDay: 0, token: token), Charge("coins", "Consumable", "2000", onDay: 0, token: unknown))
            try await ledger.submit("2000", of: "2000", by: ForgetScene.name, onDay: 9)
            #expect(try await ForgetScene.tables(in: ledger).contains("user_tokens"))
            _ = try await ForgetScene.forget(in: ledger)
            #expect(try await ForgetScene.tables(in: ledger) == [])
            #expect(try await users(ledger) == ["order 1000 alias", "order 2000 alias", "contract 1000 alias", "contract 2000 alias"])
            try await ledger.run("SELECT appstore.set_user_token(\(token), 'anna')", as: "appstore_operator")
            #expect(try await users(ledger) == ["order 1000 anna", "order 2000 alias", "contract 1000 anna", "contract 2000 alias"])
        }
    }
}
