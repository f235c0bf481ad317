import Foundation
import InboxTesting
import Postgres
import Testing

/// Ledgers have equal digests exactly when they are equal.
struct StateDigestTests {
    let tokens = [UUID(), UUID()]

    /// Changes of a ledger that commute.
    private var steps: [@Sendable (TestLedger) async throws -> Void] {
        let (first, second) = (tokens[0], tokens[1])
        return [
            { ledger in try await ledger.makeOrder(first, user: "anna") },
            { ledger in try await ledger.makeOrder(second, user: "bert", product: "coins") },
            { ledger in try await ledger.put(Charge("1000", onDay: 0, token: first)) },
            { ledger in try await ledger.put(Charge("1001", onDay: 30, token: first)) },
            { ledger in try await ledger.put(Charge("coins", "Consumable", "2000", onDay: 3, token: second)) },
            { ledger in try await ledger.put(Renewal(4, signedDay: 60, graceEndDay: 76)) },
            { ledger in try await ledger.link(to: "carl", onDay: 9) },
            { ledger in
                try await ledger.run(
                    """
                    INSERT INTO appstore.refund_requests VALUES ('Production', '00000000-0000-4000-8000-000000000001', 'asked', '2000', '2000', NULL, \(timestamp(4)))
                    """
                )
            },
            { ledger in
                try await ledger.run(
                    """
                    INSERT INTO appstore.effect_log (effect_id, environment, kind, subject, event_id, occurred_at)
                    VALUES (gen_random_uuid(), 'Production', 'granted', '2000', 7, \(timestamp(3)))
                    """
                )
            },
        ]
    }

    private func play(_ steps: [@Sendable (TestLedger) async throws -> Void], _ body: (TestLedger) async throws -> Void) async throws {
        try await TestLedger.with { ledger in
            for step in steps { try await step(ledger) }
            try await body(ledger)
        }
    }

    @Test func `the digest is independent of the order of events`() async throws {
        var digests: Set<String> = []
        for order in [steps, steps.reversed()] {
            try await play(order) { ledger in digests.insert(try await ledger.digest()) }
        }
        #expect(digests.count == 1)
        #expect(digests.first?.wholeMatch(of: /[0-9a-f]{64}/) != nil)
    }

    @Test(arguments: [
        "UPDATE appstore.transactions SET price = price + 1 WHERE transaction_id = '1001'",
        "UPDATE appstore.transactions SET storefront = '' WHERE transaction_id = '1001'",
        "UPDATE appstore.transactions SET signed_date = signed_date + interval '1 microsecond' WHERE transaction_id = '1001'",
        "UPDATE appstore.transactions SET order_no = NULL WHERE transaction_id = '1001'",
        "UPDATE appstore.transactions SET known = '{\"price\": null}' WHERE transaction_id = '1001'",
        "INSERT INTO appstore.posted_types VALUES ('Production', '3000', 'Consumable')",
        "UPDATE appstore.contracts SET renewal_status = 3",
        "UPDATE appstore.contracts SET eligible_win_back_offer_ids = '[]'",
        "UPDATE appstore.refund_requests SET reason = ''",
        "UPDATE appstore.token_orders SET user_id = 'dora'",
        "UPDATE appstore.ownership_claims SET effective_at = effective_at + interval '1 microsecond'",
        "UPDATE appstore.contracts SET access_until = 'infinity'",
        "UPDATE appstore.contracts SET product_type = NULL",
        "DELETE FROM appstore.effect_log",
        "UPDATE appstore.effect_log SET kind = 'extended'",
        "UPDATE appstore.refund_requests SET environment = 'Sandbox'",
    ])
    func `a change of any business column changes the digest`(change: String) async throws {
        try await play(steps) { ledger in
            let before = try await ledger.digest()
            try await ledger.run("\(unsafeRaw: change)")
            #expect(try await ledger.digest() != before)
        }
    }

    @Test func `columns that depend on arrival do not change the digest`() async throws {
        try await play(steps) { ledger in
            let before = try await ledger.digest()
            for change in [
                "UPDATE appstore.token_orders SET ordered_at = ordered_at + interval '1 day'",
                "UPDATE appstore.transactions SET left_contract = '9'",
                "UPDATE appstore.effect_log SET event_id = 8, recorded_at = now(), user_id = 'dora', order_no = gen_random_uuid()",
            ] {
                try await ledger.run("\(unsafeRaw: change)")
                #expect(try await ledger.digest() == before, "\(change)")
            }
        }
    }

    @Test func `boundaries of rows and columns change the digest`() async throws {
        var digests: Set<String> = []
        for rows in ["('a', 'b'), ('c', 'd')", "('a', 'bc'), ('', 'd')", "('a', 'b,c'), ('d', '')", "('a,b', 'c'), ('d', '')"] {
            try await TestLedger.with { ledger in
                try await ledger.run(
                    """
                    INSERT INTO appstore.effect_log (effect_id, environment, kind, subject, event_id, occurred_at)
                    SELECT gen_random_uuid(), 'Production', v.kind, v.key, 1, now() FROM (VALUES \(unsafeRaw: rows)) AS v (kind, key)
                    """
                )
                digests.insert(try await ledger.digest())
            }
        }
        #expect(digests.count == 4)
    }

    @Test func `the session's settings do not change the digest`() async throws {
        try await play(steps) { ledger in
            let expected = try await ledger.digest()
            let settings = [
                ("timezone", "America/New_York"), ("datestyle", "German"), ("bytea_output", "escape"), ("client_encoding", "LATIN1"),
            ]
            for (name, value) in settings {
                let digest = try await ledger.database.withConnection { connection in
                    _ = try await connection.execute("SELECT set_config(\(name), \(value), false)")
                    let rows = try await connection.query("SELECT appstore.state_digest('Production') AS digest")
                    return try rows.first?.decode("digest", as: String.self)
                }
                #expect(digest == expected, "\(name)")
            }
        }
    }

    @Test func `each environment has its own digest, and another environment is refused`() async throws {
        try await play(steps) { ledger in
            #expect(try await ledger.digest("Sandbox") != ledger.digest())
            let before = try await ledger.digest()
            try await ledger.put(Charge("9000", onDay: 0, token: tokens[0]).with { $0.environment = "Sandbox" })
            #expect(try await ledger.digest() == before)
            await #expect(throws: PostgresError.self) { try await ledger.digest("production") }
        }
    }

    @Test func `the parts show where two databases differ`() async throws {
        try await play(steps) { ledger in
            let before = try await ledger.parts()
            try await ledger.run("UPDATE appstore.ownership_claims SET user_id = 'dora'")
            let after = try await ledger.parts()
            #expect(
                Set(before).symmetricDifference(after).compactMap { $0.split(separator: " ").first }.sorted() == [
                    "orders", "orders", "ownership_claims", "ownership_claims",
                ]
            )
            #expect(before.count == 11)
        }
    }

    @Test func `the digest is of one snapshot, that of the calling statement`() async throws {
        try await play(steps) { ledger in
            let digests = try await ledger.database.withConnection { connection in
                try await connection.runScript(
                    """
                    CREATE FUNCTION pg_temp.change() RETURNS text LANGUAGE sql VOLATILE AS
                        $$ UPDATE appstore.ownership_claims SET user_id = 'dora' RETURNING 'changed' $$
                    """
                )
                let rows = try await connection.query(
                    """
                    SELECT unnest(ARRAY[appstore.state_digest('Production'), pg_temp.change(), appstore.state_digest('Production')])
                    """
                )
                return try rows.map { try $0.decode(0, as: String.self) }
            }
            #expect(digests[0] == digests[2])
            #expect(digests[1] == "changed")
            #expect(try await ledger.digest() != digests[2])
        }
    }
}

extension TestLedger {
    fileprivate func digest(_ environment: String = "Production") async throws -> String {
        try await lines("SELECT appstore.state_digest(\(environment)::appstore.environment)").joined()
    }

    fileprivate func parts() async throws -> [String] {
        try await lines("SELECT concat_ws(' ', part, rows, digest) FROM appstore.state_digest_parts('Production')")
    }
}
