import InboxTesting
import Postgres
import PostgresTesting
import Testing

/// What operators and backends may ask Apple, and which calls it makes.
@Suite(.timeLimit(.minutes(2)))
struct AskAppleTests {
    private static let app = "bundle_id => 'com.example.app'"

    private func ask(_ sql: String, _ database: TestDatabase, as role: String = "appstore_operator") async throws -> Int64 {
        try await database.withConnection(user: role) { try await $0.query("SELECT appstore.\(unsafeRaw: sql)")[0].decode(0) }
    }

    private func change(_ database: TestDatabase, _ sql: String) async throws {
        try await database.withConnection { try await $0.runScript(sql) }
    }

    private func calls(_ database: TestDatabase) async throws -> [String] {
        try await database.lines(
            "SELECT concat_ws(' ', kind, call_key, environment, priority, convert_from(payload, 'UTF8')) FROM appstore.outbox ORDER BY call_id"
        )
    }

    @Test func `a question becomes a call, is joined while it is open, and is audited once`() async throws {
        let database = try await InboxDatabase.make()
        let call = try await ask("ask_apple('transaction_info', '42', \(Self.app))", database)
        #expect(try await ask("ask_apple('transaction_info', '42', \(Self.app))", database, as: "appstore_backend") == call)
        #expect(try await calls(database) == [#"transaction_info any:42 Production 1 {"path": ["42"], "anyEnvironment": true}"#])
        #expect(
            try await database.lines("SELECT concat_ws(' ', actor, action, details ->> 'kind', details ->> 'id') FROM appstore.audit_log")
                == ["appstore_operator request_apple transaction_info 42"]
        )
        // A postponed call is due at once when a person waits for it.
        try await change(database, "UPDATE appstore.outbox SET run_at = now() + interval '1 hour', priority = 2")
        #expect(try await ask("ask_apple('transaction_info', '42', \(Self.app))", database) == call)
        #expect(
            try await database.lines("SELECT (run_at <= clock_timestamp())::text || ' ' || priority FROM appstore.outbox") == ["true 1"]
        )
        try await change(database, "UPDATE appstore.outbox SET state = 'answered', settled_at = now()")
        #expect(try await ask("ask_apple('transaction_info', '42', \(Self.app))", database) != call)
    }

    @Test func `app and environment are those of a known transaction, else the only app`() async throws {
        let database = try await InboxDatabase.make()
        try await database.withConnection { connection in
            try await connection.runScript(
                """
                INSERT INTO appstore.transactions (environment, transaction_id, original_transaction_id, bundle_id, product_id, product_type,
                    purchase_date, signed_date, payload_hash, first_signed_date, period_no, is_subscription)
                SELECT 'Sandbox', v.id, '1000', 'com.example.app', 'pro', 'Auto-Renewable Subscription', now(), now(), '\\x01', now(),
                    gen_random_uuid(), true
                FROM (VALUES ('1000'), ('1001')) AS v (id);
                """
            )
        }
        _ = try await ask("ask_apple('subscription_statuses', '1001')", database)
        #expect(try await calls(database) == [#"subscription_statuses sandbox:1001 Sandbox 1 {"path": ["1001"]}"#])
        await expectRefusal("set_app_account_token('1001', gen_random_uuid())", "later transaction", database)
        await expectRefusal("extend_renewal_date('1001', 1, 1)", "later transaction", database)
        await expectRefusal("ask_apple('transaction_info', '7')", "the app must be named", database)
        try await change(database, "SELECT appstore.plan_history('{com.example.only}', '{Production}')")
        _ = try await ask("ask_apple('transaction_info', '7')", database)
        #expect(try await database.lines("SELECT bundle_id FROM appstore.outbox WHERE call_key = 'production:7'") == ["com.example.only"])
        await expectRefusal("ask_apple('transaction_info', '8', 'com.example.onyl')", "no worker has had a key of this app", database)
        await expectRefusal(
            "ask_apple('transaction_info', '8', 'com.example.only', 'Sandbox')",
            "no worker has had a key of this app",
            database
        )
    }

    @Test func `a contract is known by its renewals, and where workers ask about one environment, it is that one`() async throws {
        let database = try await InboxDatabase.make()
        try await change(
            database,
            """
            SELECT appstore.plan_history('{com.example.app,com.example.app,com.example.tests}', '{Production,Sandbox,Sandbox}');
            INSERT INTO appstore.transactions (environment, transaction_id, original_transaction_id, bundle_id, product_id, product_type,
                purchase_date, signed_date, payload_hash, first_signed_date, period_no, is_subscription)
            VALUES ('Sandbox', '1001', '1000', 'com.example.app', 'pro', 'Auto-Renewable Subscription', now(), now(), '\\x01', now(),
                    gen_random_uuid(), true);
            SELECT appstore.derive_ledger('Sandbox', '{1001}', '{1000}')
            """
        )
        _ = try await ask("extend_renewal_date('1000', 7, 3, 'R1')", database)
        _ = try await ask("set_app_account_token('7', '0f8fad5b-d9cb-469f-a165-70867728950e', 'com.example.tests')", database)
        _ = try await ask("ask_apple('transaction_info', '7', 'com.example.tests')", database)
        #expect(
            try await database.lines("SELECT bundle_id || ' ' || call_key FROM appstore.outbox ORDER BY call_id") == [
                "com.example.app sandbox:R1", "com.example.tests sandbox:7", "com.example.tests sandbox:7",
            ]
        )
    }

    @Test func `questions about groups and seats go to Sandbox, unless the ledger or the caller knows better`() async throws {
        let database = try await InboxDatabase.make()
        for kind in ["customer_groups", "group_members", "seat_info"] {
            _ = try await ask("ask_apple('\(kind)', '42', \(Self.app))", database)
        }
        _ = try await ask("ask_apple('group_members', '42', \(Self.app), environment => 'Production')", database)
        #expect(
            try await calls(database) == [
                #"customer_groups sandbox:42 Sandbox 1 {"path": ["42"]}"#,
                #"group_members sandbox:42 Sandbox 1 {"path": ["42"], "query": [["limit", "100"]]}"#,
                #"seat_info sandbox:42 Sandbox 1 {"path": ["42"]}"#,
                #"group_members production:42 Production 1 {"path": ["42"], "query": [["limit", "100"]]}"#,
            ]
        )
    }

    @Test func `two pages of a group are two questions, however long their tokens are`() async throws {
        let database = try await InboxDatabase.make()
        func page(_ token: String) async throws -> Int64 {
            try await ask("ask_apple('group_members', '42', \(Self.app), pagination_token => '\(token)')", database)
        }
        let (one, two) = (String(repeating: "%", count: 2047) + "1", String(repeating: "%", count: 2047) + "2")
        let calls = [try await page(one), try await page(two), try await page(one)]
        #expect(calls[0] != calls[1] && calls[0] == calls[2])
        await expectRefusal(
            "ask_apple('group_members', '42', \(Self.app), pagination_token => '\(one)x')",
            "pagination_token must be",
            database
        )
        _ = try await ask(
            "ask_apple('group_members', '\(String(repeating: "9", count: 100))', \(Self.app), pagination_token => 't')",
            database
        )
    }

    @Test(arguments: [
        ("ask_apple('transactions', '1', \(app))", "there is no question 'transactions'"),
        ("ask_apple(NULL, '1', \(app))", "there is no question NULL"),
        ("ask_apple('extend_for_all', 'pro', \(app))", "extend_for_all changes something"),
        ("ask_apple('transaction_info', NULL, \(app))", "id must be a transactionId"),
        ("ask_apple('transaction_info', '../1', \(app))", "id must be a transactionId"),
        ("ask_apple('order_lookup', 'M K', \(app))", "id must be the order number"),
        ("ask_apple('order_lookup', 'MK', \(app), environment => 'Sandbox')", "no order numbers in Sandbox"),
        ("ask_apple('test_notification', \(app))", "environment must not be null"),
        ("ask_apple('test_notification', '1', \(app), environment => 'Sandbox')", "a test notification has no id"),
        ("ask_apple('extend_status', 'r', \(app))", "the productId must be named"),
        ("ask_apple('customer_groups', 'x', \(app))", "id must be a transactionId"),
        ("ask_apple('seat_info', NULL, \(app))", "id must be a transactionId"),
        ("ask_apple('group_members', 'a/b', \(app))", "id must be a groupId"),
        ("ask_apple('group_members', '9', \(app), pagination_token => '')", "pagination_token must be"),
        ("ask_apple('group_members', '9', \(app), pagination_token => 'a b')", "pagination_token must be"),
        ("ask_apple('seat_info', '9', \(app), pagination_token => 't')", "seat_info has no pages"),
        ("extend_renewal_date('1', 0, 1, \(app))", "days must be from 1 to 90"),
        ("extend_renewal_date('1', 91, 1, \(app))", "days must be from 1 to 90"),
        ("extend_renewal_date('1', NULL, 1, \(app))", "days must be from 1 to 90"),
        ("extend_renewal_date('1', 1, 4, \(app))", "reason must be from 0 to 3"),
        ("extend_renewal_date('1', 1, 1, 'a b', \(app))", "request_identifier must have"),
        ("extend_for_all('pro', 1, 1, '{usa}', \(app))", "storefronts must be country codes"),
        ("extend_for_all('pro', 1, 1, '{}', \(app))", "storefronts are empty"),
        ("extend_for_all('a/b', 1, 1, \(app))", "id must be a productId"),
        ("set_app_account_token('1', NULL, \(app))", "token must not be null"),
        ("finish_transaction('x', \(app))", "id must be a transactionId"),
    ])
    func `what Apple would refuse is refused at once`(sql: String, message: String) async throws {
        let database = try await InboxDatabase.make()
        await expectRefusal(sql, message, database)
        #expect(try await calls(database) == [])
        #expect(try await database.lines("SELECT count(*)::text FROM appstore.audit_log") == ["0"])
    }

    private func expectRefusal(_ sql: String, _ message: String, _ database: TestDatabase) async {
        let error = await #expect(throws: PostgresError.self, "\(sql)") { try await ask(sql, database) }
        #expect(error?.description.contains(message) == true, "\(sql): \(error.map { "\($0)" } ?? "")")
    }

    @Test func `an extension without an identifier is made once in 24 hours, also around midnight`() async throws {
        let database = try await InboxDatabase.make()
        let extend = "extend_renewal_date('42', 7, 3, \(Self.app))"
        let call = try await ask(extend, database)
        // As it was written yesterday.
        try await change(
            database,
            """
            UPDATE appstore.outbox
            SET call_key = replace(call_key, day.new, day.old), payload = convert_to(replace(convert_from(payload, 'UTF8'), day.new, day.old), 'UTF8')
            FROM (SELECT to_char(now() AT TIME ZONE 'UTC', 'YYYYMMDD') AS new,
                         to_char(now() AT TIME ZONE 'UTC' - interval '24 hours', 'YYYYMMDD') AS old) AS day
            """
        )
        #expect(try await ask(extend, database) == call)
        try await change(database, "UPDATE appstore.outbox SET state = 'answered', settled_at = now()")
        #expect(try await ask(extend, database) == call)
        try await change(database, "UPDATE appstore.outbox SET asked_at = now() - interval '25 hours'")
        #expect(try await ask(extend, database) != call)
    }

    @Test func `an extension that was given up after a day keeps its identifier, since Apple may have heard of it`() async throws {
        let database = try await InboxDatabase.make()
        let extend = "extend_renewal_date('42', 7, 3, \(Self.app))"
        _ = try await ask(extend, database)
        try await change(
            database,
            """
            UPDATE appstore.outbox
            SET call_key = replace(call_key, day.new, day.old), state = 'given_up', reason = 'by_test', settled_at = now(),
                asked_at = now() - interval '25 hours'
            FROM (SELECT to_char(now() AT TIME ZONE 'UTC', 'YYYYMMDD') AS new,
                         to_char(now() AT TIME ZONE 'UTC' - interval '24 hours', 'YYYYMMDD') AS old) AS day
            """
        )
        _ = try await ask(extend, database)
        #expect(try await database.lines("SELECT count(DISTINCT call_key) || ' ' || count(*) FROM appstore.outbox") == ["1 2"])
    }

    @Test func `a call is not repeated whose extension another one has made`() async throws {
        let database = try await InboxDatabase.make()
        let extend = "extend_renewal_date('42', 7, 3, 'outage', \(Self.app))"
        let lost = try await ask(extend, database)
        try await change(database, "UPDATE appstore.outbox SET state = 'given_up', reason = 'by_test', settled_at = now()")
        let made = try await ask(extend, database)
        try await change(database, "UPDATE appstore.outbox SET state = 'answered', settled_at = now() WHERE call_id = \(made)")
        let error = await #expect(throws: PostgresError.self) {
            try await database.withConnection(user: "appstore_operator") { try await $0.runScript("SELECT appstore.repeat_call(\(lost))") }
        }
        #expect(error?.description.contains("call \(made) has made this extension") == true)
        #expect(try await database.lines("SELECT state FROM appstore.outbox ORDER BY call_id") == ["given_up", "answered"])
    }

    @Test func `an extension is made once for an identifier, and once a day without one`() async throws {
        let database = try await InboxDatabase.make()
        let call = try await ask("extend_renewal_date('42', 7, 3, 'outage', \(Self.app))", database)
        #expect(try await ask("extend_renewal_date('42', 7, 3, 'outage', \(Self.app))", database) == call)
        await expectRefusal("extend_renewal_date('42', 8, 3, 'outage', \(Self.app))", "extends otherwise", database)
        try await change(database, "UPDATE appstore.outbox SET state = 'answered', settled_at = now()")
        #expect(try await ask("extend_renewal_date('42', 7, 3, 'outage', \(Self.app))", database) == call)
        let today = try await ask("extend_renewal_date('42', 7, 3, \(Self.app))", database)
        #expect(today != call)
        #expect(try await ask("extend_renewal_date('42', 7, 3, \(Self.app))", database) == today)
        // What Apple refused can be asked again.
        try await change(database, "UPDATE appstore.outbox SET state = 'refused', reason = 'apple_4030004', settled_at = now()")
        #expect(try await ask("extend_renewal_date('42', 7, 3, 'outage', \(Self.app))", database) != call)
    }

    @Test func `a change that differs from an open one is refused, as is a question about another app`() async throws {
        let database = try await InboxDatabase.make()
        let token = "'0f8fad5b-d9cb-469f-a165-70867728950e'"
        let call = try await ask("set_app_account_token('42', \(token), \(Self.app))", database)
        #expect(try await ask("set_app_account_token('42', \(token), \(Self.app))", database) == call)
        await expectRefusal("set_app_account_token('42', gen_random_uuid(), \(Self.app))", "asks otherwise", database)
        _ = try await ask("ask_apple('transaction_info', '42', \(Self.app))", database)
        await expectRefusal("ask_apple('transaction_info', '42', 'com.example.other')", "asks otherwise", database)
        #expect(try await database.lines("SELECT count(*)::text FROM appstore.audit_log WHERE details::text LIKE '%0f8fad5b%'") == ["0"])
    }

    @Test(arguments: ["appstore_viewer", "appstore_worker", "appstore_api", "appstore_ingest"])
    func `only operators and backends ask`(role: String) async throws {
        let database = try await InboxDatabase.make()
        for sql in ["ask_apple('transaction_info', '42', \(Self.app))", "extend_renewal_date('42', 7, 3, \(Self.app))", "call_document(1)"]
        {
            let error = await #expect(throws: PostgresError.self) { try await ask(sql, database, as: role) }
            #expect(error?.sqlState == .insufficientPrivilege)
        }
        let backend = await #expect(throws: PostgresError.self) {
            try await ask("extend_for_all('pro', 1, 1, \(Self.app))", database, as: "appstore_backend")
        }
        #expect(backend?.sqlState == .insufficientPrivilege)
    }
}
