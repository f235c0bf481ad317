import Foundation
import InboxTesting
import Postgres
import Testing

/// The role of the HTTP API can do in SQL only what a key permits.
struct APIRoleTests {
    private static let app = "com.example.app"
    private static let post = Array(
        #"{"signedTransaction":"YQ.YQ.YQ","user":"anna","environment":"Production","bundleIds":["com.example.app"]}"#.utf8
    )

    /// A ledger in which a user owns contract 1000, and the event of a post.
    private func withPurchase(_ body: (TestLedger, _ event: Int64) async throws -> Void) async throws {
        try await TestLedger.with { ledger in
            let token = UUID()
            try await ledger.makeOrder(token, user: "anna")
            try await ledger.put(Charge("1000", onDay: 0, token: token))
            let key = try await ledger.database.makeAPIKey()
            try await body(ledger, try await ledger.submit(Self.post, with: key))
        }
    }

    /// Every statement of the API; `key` is the hash of a key.
    private func statements(_ key: [UInt8]?, event: Int64) -> [Statement] {
        [
            "SELECT appstore.api_create_order(\(key), 'anna', 'pro.monthly', NULL, \(Self.app))",
            "SELECT appstore.api_link_owner(\(key), 'Production', '1000', 'mallory')",
            "SELECT appstore.api_submit_transaction(\(key), \(Self.post))",
            "SELECT appstore.api_submit_receipt(\(key), \(Self.post))",
            "SELECT FROM appstore.api_event(\(key), \(event), true)",
            "SELECT FROM appstore.api_event(\(key), \(event), false)",
            "SELECT FROM appstore.api_entitlements(\(key), 'Production', 'anna')",
            "SELECT FROM appstore.api_subscription(\(key), 'Production', '1000')",
            "SELECT FROM appstore.api_receipt_charges(\(key), 'Production', ARRAY['1000'], 'anna')",
            "SELECT FROM appstore.api_receipt_question(\(key), 'receipt')",
            "SELECT FROM appstore.api_order(\(key), 'Production', gen_random_uuid())",
            "SELECT FROM appstore.api_user_orders(\(key), 'Production', 'anna', NULL, NULL, NULL, NULL, 50)",
            "SELECT FROM appstore.api_feed(\(key), 'Production', NULL, NULL, NULL, 0, NULL, 100, false)",
            "SELECT FROM appstore.api_consumption(\(key), 'Production', NULL, NULL, 100)",
            "SELECT FROM appstore.api_answer_consumption(\(key), 'Production', '1000', true, NULL, NULL, NULL, NULL, NULL, NULL)",
        ]
    }

    /// The statements of the feed that name no environment.
    private func feedStatements(_ key: [UInt8]?) -> [Statement] {
        [
            "SELECT FROM appstore.api_feed(\(key), NULL, NULL, NULL, NULL, 0, NULL, 100, false)",
            "SELECT appstore.api_feed_entry(\(key), 1)",
            "SELECT FROM appstore.api_consumer(\(key), 'mailer')",
            "SELECT FROM appstore.api_set_consumer(\(key), 'mailer', NULL, 0, NULL)",
            "SELECT appstore.api_remove_consumer(\(key), 'mailer')",
            "SELECT appstore.api_give_consent(\(key), 'anna', 'terms')",
            "SELECT appstore.api_withdraw_consent(\(key), 'anna')",
            "SELECT appstore.api_set_user_token(\(key), gen_random_uuid(), 'mallory')",
        ]
    }

    private func changes(_ ledger: TestLedger) async throws -> [String] {
        try await ledger.lines(
            """
            SELECT concat_ws(' ', (SELECT count(*) FROM appstore.inbox), (SELECT count(*) FROM appstore.orders),
                             (SELECT count(*) FROM appstore.owner_links), (SELECT max(user_id) FROM appstore.contracts))
            """
        )
    }

    @Test func `every statement without a known key is refused`() async throws {
        try await withPurchase { ledger, event in
            let revoked = try await ledger.database.makeAPIKey()
            try await ledger.run("SELECT appstore.revoke_api_key(max(key_id)) FROM appstore.api_keys")
            let before = try await changes(ledger)
            for key in [nil, [], [UInt8](repeating: 0, count: 32), revoked] {
                for statement in statements(key, event: event) + feedStatements(key) {
                    let error = await ledger.refusal(of: statement)
                    #expect((error?.sqlState, error?.refusal) == (.insufficientPrivilege, "key_unknown"), "\(statement)")
                }
            }
            for table in ["inbox", "contracts", "api_keys", "entitlements"] {
                let error = await ledger.refusal(of: "SELECT FROM appstore.\(identifier: table)")
                #expect(error?.sqlState == .insufficientPrivilege)
            }
            #expect(try await changes(ledger) == before)
        }
    }

    @Test func `a key without the verb is refused`() async throws {
        try await withPurchase { ledger, event in
            let key = try await ledger.database.makeAPIKey()
            try await ledger.run("UPDATE appstore.api_keys SET verbs = '{orders:create}' WHERE key_hash = \(key)")
            for statement in statements(key, event: event).dropFirst() + feedStatements(key).dropLast() {
                #expect(await ledger.refusal(of: statement)?.refusal == "verb_missing", "\(statement)")
            }
        }
    }

    @Test func `a key of another environment is refused`() async throws {
        try await withPurchase { ledger, event in
            let key = try await ledger.database.makeAPIKey(environments: ["Sandbox"])
            let before = try await changes(ledger)
            let all = statements(key, event: event)
            // The other statements name no environment.
            for statement in all[..<4] + all[6..<9] + all[10...] {
                #expect(await ledger.refusal(of: statement)?.refusal == "environment_missing", "\(statement)")
            }
            #expect(try await ledger.rows("SELECT FROM appstore.api_event(\(key), \(event), true)") == 0)
            #expect(try await changes(ledger) == before)
        }
    }

    @Test func `a key of another app is refused, and reads and changes nothing of this app`() async throws {
        try await withPurchase { ledger, event in
            let other = try await ledger.database.makeAPIKey(apps: ["com.example.other"])
            let own = try await ledger.database.makeAPIKey(apps: [Self.app])
            let before = try await changes(ledger)
            for statement in [statements(other, event: event)[0]] + statements(other, event: event)[2...3] {
                #expect(await ledger.refusal(of: statement)?.refusal == "app_missing", "\(statement)")
            }
            for (key, count) in [(other, 0), (own, 1)] {
                for statement in [
                    "SELECT FROM appstore.api_event(\(key), \(event), true)",
                    "SELECT FROM appstore.api_user_orders(\(key), 'Production', 'anna', NULL, NULL, NULL, NULL, 50)",
                    "SELECT FROM appstore.api_entitlements(\(key), 'Production', 'anna')",
                    "SELECT FROM appstore.api_subscription(\(key), 'Production', '1000')",
                    "SELECT FROM appstore.api_receipt_charges(\(key), 'Production', ARRAY['1000'], 'anna')",
                ] as [Statement] {
                    #expect(try await ledger.rows(statement) == count, "\(statement)")
                }
            }
            let link = "SELECT WHERE appstore.api_link_owner(\(other), 'Production', '1000', 'mallory')" as Statement
            #expect(try await ledger.rows(link) == 0)
            #expect(try await changes(ledger) == before)
        }
    }

    @Test(arguments: ["", "{", "[]", "{}", #"{"environment":"Mars"}"#, #"{"environment":"Production","bundleIds":{"a":1}}"#, "\u{0}"])
    func `a body without a readable scope is not stored`(body: String) async throws {
        try await TestLedger.with { ledger in
            let key = try await ledger.database.makeAPIKey()
            let error = await ledger.refusal(of: "SELECT appstore.api_submit_transaction(\(key), \(Array(body.utf8)))")
            #expect(error?.sqlState?.rawValue == "22023")
            #expect(try await ledger.lines("SELECT event_id::text FROM appstore.inbox") == [])
        }
    }
}

extension TestLedger {
    /// The error of the API's role; nil when the statement succeeds.
    fileprivate func refusal(of statement: Statement) async -> PostgresError? {
        await #expect(throws: PostgresError.self, "\(statement)") { try await run(statement, as: "appstore_api") }
    }

    fileprivate func submit(_ body: [UInt8], with key: [UInt8]) async throws -> Int64 {
        try await database.withConnection(user: "appstore_api") { connection in
            try await connection.query("SELECT appstore.api_submit_transaction(\(key), \(body)) AS event_id")[0].decode("event_id")
        }
    }

    fileprivate func rows(_ statement: Statement) async throws -> Int {
        try await database.withConnection(user: "appstore_api") { try await $0.query(statement).count }
    }
}
