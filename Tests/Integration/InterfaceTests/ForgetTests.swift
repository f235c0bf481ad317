import InboxTesting
import Postgres
import PostgresTesting
import Testing

/// Erasure requests: the name is removed, the amounts stay.
struct ForgetTests {
    private let order = ForgetScene.order
    private let name = ForgetScene.name

    private func amounts(_ ledger: TestLedger) async throws -> [String] {
        try await ledger.lines(
            """
            SELECT concat_ws('|', environment, order_no, status, transaction_id, original_transaction_id, price, currency, paid_at) FROM appstore.orders ORDER BY 1
            """
        )
    }

    @Test func `the name is removed in both environments, and amounts stay`() async throws {
        try await ForgetScene.with { ledger in
            let before = try await amounts(ledger)
            let places = try await ForgetScene.tables(in: ledger)
            #expect(
                places == [
                    "audit_log", "client_posts", "contracts", "effect_log", "inbox_first", "owner_links", "ownership_claims",
                    "token_orders",
                ]
            )
            let alias = try await ForgetScene.forget(name, in: ledger)
            #expect(alias.hasPrefix("forgotten:"))
            #expect(try await ForgetScene.tables(in: ledger) == [])
            #expect(try await amounts(ledger) == before)
            #expect(try await ledger.lines("SELECT count(*)::text FROM appstore.orders WHERE user_id = 'bob'") == ["1"])
            #expect(
                try await ledger.lines("SELECT DISTINCT environment::text FROM appstore.orders WHERE user_id = \(alias) ORDER BY 1") == [
                    "Production", "Sandbox",
                ]
            )
            #expect(
                try await ledger.lines("SELECT string_agg(convert_from(body, 'UTF8'), ', ' ORDER BY event_id) FROM appstore.inbox") == [
                    "about 2000, {\"user\":\"bob\"}, no JSON"
                ]
            )
            #expect(
                try await ledger.lines("SELECT result || '|' || reason FROM appstore.outcomes WHERE event_id = 5")
                    == ["discarded|forgotten"]
            )
            #expect(
                try await ledger.lines(
                    "SELECT concat_ws('|', actor, event_ids, note, details ->> 'alias') FROM appstore.audit_log WHERE action = 'forget'"
                )
                    == ["appstore_operator|{1,3,5}|request 7 of the DPO|\(alias)"]
            )
            #expect(try await ledger.lines("SELECT DISTINCT coalesce(note, '') FROM appstore.owner_links WHERE user_id = \(alias)") == [""])
            #expect(try await ledger.database.eventsNotExactlyOnce() == [])
        }
    }

    @Test(arguments: ["replica", "logical"])
    func `a user can be forgotten, and posts again, while all tables are published`(level: String) async throws {
        let cluster = try await TestCluster.startPrivate(settings: ["wal_level": level])
        try await ForgetScene.with(in: cluster) { ledger in
            try await ledger.run("CREATE PUBLICATION everything FOR ALL TABLES")
            let alias = try await ForgetScene.forget(name, in: ledger)
            #expect(alias.hasPrefix("forgotten:"))
            #expect(try await ForgetScene.tables(in: ledger) == [])
            try await ledger.submit("1001", by: "carol", onDay: 4000)
            #expect(try await ledger.lines("SELECT user_id FROM appstore.contracts WHERE original_transaction_id = '1000'") == ["carol"])
            try await ledger.setPolicy("backend")
            try await ledger.setPolicy("off")
        }
        await cluster.stop()
    }

    @Test func `questions about the user are discarded and asked no more, and answers about the download of the app lose their bodies`()
        async throws
    {
        try await ForgetScene.with { ledger in
            try await ledger.run(
                """
                WITH stored AS (
                    INSERT INTO appstore.inbox (source, received_at, body)
                    SELECT 'app_transaction', now(), convert_to('download of ' || id, 'UTF8') FROM (VALUES ('1001'), ('2000')) AS b (id) RETURNING *
                )
                INSERT INTO appstore.outcomes (event_id, source, received_at, settled_at, run, attempts, result, environment, original_transaction_id)
                SELECT event_id, source, received_at, now(), 1, 1, 'no_effect', 'Production', right(convert_from(body, 'UTF8'), 4) FROM stored
                """
            )
            try await ledger.run(
                """
                INSERT INTO appstore.outbox (kind, call_key, bundle_id, payload, deadline_at)
                SELECT v.kind, v.key, 'a', '\\x7b7d', now() + interval '1 hour'
                FROM (VALUES ('subscription_statuses', 'production:1000'), ('transaction_info', 'any:1001'),
                             ('set_app_account_token', 'production:1000'), ('subscription_statuses', 'production:2000'),
                             ('subscription_statuses', 'sandbox:1000'), ('customer_groups', 'production:1001')) AS v (kind, key)
                """
            )
            try await ledger.run(
                """
                INSERT INTO appstore.outbox (kind, call_key, bundle_id, payload, deadline_at, state, settled_at, answer)
                SELECT 'seat_info', v.key, 'a', '\\x7b7d', now() + interval '1 hour', 'answered', now(), '{"totalSeatCount": 2}'
                FROM (VALUES ('production:1000'), ('production:2000')) AS v (key)
                """
            )
            try await ledger.run(
                """
                INSERT INTO appstore.reconcile_watches (environment, original_transaction_id, rule, bundle_id, since, next_at)
                SELECT 'Production', id, 'no_renewal_info', 'a', now(), now() FROM (VALUES ('1000'), ('2000')) AS w (id)
                """
            )
            _ = try await ForgetScene.forget(in: ledger)
            #expect(
                try await ledger.lines("SELECT state || ' ' || call_key FROM appstore.outbox ORDER BY call_id") == [
                    "discarded production:1000", "discarded any:1001", "discarded production:1000", "open production:2000",
                    "open sandbox:1000", "discarded production:1001", "answered production:1000", "answered production:2000",
                ]
            )
            #expect(try await ledger.lines("SELECT call_key FROM appstore.outbox WHERE answer IS NOT NULL") == ["production:2000"])
            #expect(try await ledger.lines("SELECT original_transaction_id FROM appstore.reconcile_watches") == ["2000"])
            let bodies: Statement = "SELECT convert_from(body, 'UTF8') FROM appstore.inbox WHERE source = 'app_transaction'"
            #expect(try await ledger.lines(bodies) == ["download of 2000"])
        }
    }

    @Test func `later notifications are merged into the contract without the name`() async throws {
        try await ForgetScene.with { ledger in
            let alias = try await ForgetScene.forget(name, in: ledger)
            try await ledger.put(
                Charge("1003", onDay: 60),
                Charge("1000", onDay: 0, token: order).with {
                    $0.signedDay = 61; $0.revocationDay = 61
                },
                Charge("1004", onDay: 90).with {
                    $0.environment = "Sandbox"; $0.contract = "1002"
                }
            )
            #expect(try await ForgetScene.tables(in: ledger) == [])
            #expect(
                try await ledger.lines(
                    "SELECT concat_ws('|', user_id, current_transaction_id) FROM appstore.contracts WHERE original_transaction_id = '1000'"
                )
                    == ["\(alias)|1003"]
            )
            #expect(
                try await ledger.lines("SELECT status FROM appstore.orders WHERE order_no = \(order) AND environment = 'Production'") == [
                    "refunded"
                ]
            )
            // Another user can still become the owner of the contract.
            try await ledger.run("SELECT appstore.link_owner('Production', '1000', 'carol')", as: "appstore_operator")
            #expect(try await ledger.lines("SELECT user_id FROM appstore.contracts WHERE original_transaction_id = '1000'") == ["carol"])
            await #expect(throws: PostgresError.self) { try await ledger.makeOrder(order, user: name) }
            #expect(try await ForgetScene.tables(in: ledger) == [])
        }
    }

    @Test func `deriving the renamed ledger again changes nothing`() async throws {
        try await ForgetScene.with { ledger in
            _ = try await ForgetScene.forget(name, in: ledger)
            let renamed = try await ledger.lines("SELECT appstore.state_digest('Production') || appstore.state_digest('Sandbox')")
            for environment in ["Production", "Sandbox"] {
                try await ledger.run(
                    """
                    SELECT appstore.derive_ledger(\(environment)::appstore.environment, ARRAY(SELECT transaction_id FROM appstore.transactions WHERE environment = \(environment)::appstore.environment),
                                                 ARRAY(SELECT original_transaction_id FROM appstore.contracts WHERE environment = \(environment)::appstore.environment))
                    """
                )
            }
            #expect(try await ledger.lines("SELECT appstore.state_digest('Production') || appstore.state_digest('Sandbox')") == renamed)
        }
    }

    @Test func `forgetting again, by name or alias, changes nothing`() async throws {
        try await ForgetScene.with { ledger in
            let alias = try await ForgetScene.forget(name, in: ledger)
            let digest = try await ledger.lines("SELECT appstore.state_digest('Production')")
            #expect(try await ForgetScene.forget(alias, in: ledger) == alias)
            #expect(try await ForgetScene.forget(name, in: ledger) == "", "there is nothing of this name")
            #expect(try await ledger.lines("SELECT appstore.state_digest('Production')") == digest)
            #expect(try await ledger.lines("SELECT count(*)::text FROM appstore.inbox") == ["3"])
        }
    }

    @Test func `a note that contains the user id is refused, and only an operator may forget`() async throws {
        try await ForgetScene.with { ledger in
            let error = await #expect(throws: PostgresError.self) {
                try await ledger.run("SELECT appstore.forget(\(name), \("erasure for " + name))", as: "appstore_operator")
            }
            #expect(error?.sqlState?.rawValue == "22023")
            for role in ["appstore_worker", "appstore_backend", "appstore_api", "appstore_viewer", "appstore_ingest"] {
                await #expect(throws: PostgresError.self) { try await ledger.run("SELECT appstore.forget(\(name))", as: role) }
            }
        }
    }
}
