import AppStore
import InboxTesting
import OpenSSL
import Postgres
import Testing

@testable import ShopAPI

struct KeyTests {
    private func makeKey() -> APIKey {
        var generator = SystemRandomNumberGenerator()
        return APIKey(using: &generator)
    }

    @Test func `a key has 256 random bits and a prefix for secret scanners`() throws {
        let keys = (0..<100).map { _ in makeKey() }
        #expect(Set(keys.map(\.text)).count == 100)
        for key in keys {
            #expect(key.text.hasPrefix("asinbox_"))
            #expect(Base64URL.decode(Array(key.text.utf8.dropFirst(8)))?.count == 32)
            #expect(APIKey(key.text)?.hash == Digest.sha256(Array(key.text.utf8)))
        }
    }

    @Test(arguments: ["", "asinbox_", "asinbox_AAAA", "asinbox_" + String(repeating: "A", count: 44), String(repeating: "A", count: 43)])
    func `malformed text is not a key`(text: String) {
        #expect(APIKey(text) == nil)
    }

    @Test func `the description of a key does not contain it`() {
        let key = makeKey()
        #expect(!"\(key) \([key])".contains(key.text))
    }

    @Test func `the register stores only the hash and does not return it`() async throws {
        let (database, key) = (try await InboxDatabase.make(), makeKey())
        try await database.withConnection(user: "appstore_operator") { connection in
            let register = KeyRegister(connection)
            let keyID = try await register.add(
                key,
                name: "shop",
                bundleIDs: ["com.example.a"],
                environments: [.production],
                verbs: [.createOrders, .readEvents]
            )
            let entry = try #require(try await register.entries().first)
            #expect((entry.keyID, entry.name) == (keyID, "shop"))
            #expect((entry.bundleIDs, entry.environments) == (["com.example.a"], ["Production"]))
            #expect(entry.verbs == ["orders:create", "events:read"])
            #expect((entry.lastUsedAt, entry.revokedAt) == (nil, nil))
            await #expect(throws: PostgresError.self) { try await connection.query("SELECT key_hash FROM appstore.api_keys") }
        }
        let kept = try await database.lines("SELECT encode(key_hash, 'hex') FROM appstore.api_keys")
        #expect(kept == [key.hash.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()])
        let audit = try await database.lines("SELECT action || ' ' || note || ' ' || details::text || actor FROM appstore.audit_log")
        #expect(audit.count == 1)
        #expect(audit.first?.hasPrefix("make_api_key shop ") == true)
    }

    @Test func `no two living keys have one name`() async throws {
        let database = try await InboxDatabase.make()
        try await database.withConnection(user: "appstore_operator") { connection in
            let register = KeyRegister(connection)
            func add(until end: KeyEnd? = nil) async throws -> Int32 {
                try await register.add(makeKey(), name: "shop", bundleIDs: nil, environments: [.sandbox], verbs: [.readEvents], until: end)
            }
            let first = try await add(until: .after(seconds: 60))
            let error = await #expect(throws: PostgresError.self) { _ = try await add() }
            #expect((error?.sqlState, error?.message) == (.uniqueViolation, "key \(first) has the name 'shop' already"))
            // An expired key frees its name, and so does a revoked one.
            try await database.change("UPDATE appstore.api_keys SET expires_at = now()")
            let second = try await add()
            #expect(try await register.revoke(second))
            _ = try await add()
            let audited = try await database.lines("SELECT action || ' ' || note FROM appstore.audit_log ORDER BY audit_id")
            #expect(audited == ["make_api_key shop", "make_api_key shop", "revoke_api_key shop", "make_api_key shop"])
        }
    }

    @Test func `while a key is made, another of its name waits and a request does not`() async throws {
        let (database, used) = (try await InboxDatabase.make(), makeKey())
        func add(_ key: APIKey, _ name: String, _ connection: Connection) async throws {
            _ = try await KeyRegister(connection).add(key, name: name, bundleIDs: nil, environments: [.sandbox], verbs: [.readEvents])
        }
        try await database.withConnection(user: "appstore_operator") { connection in
            try await add(used, "used", connection)
            try await connection.runScript("BEGIN")
            try await add(makeKey(), "shop", connection)
            try await database.withConnection(user: "appstore_api") { api in
                try await api.runScript("SET lock_timeout = '1s'")
                _ = try await api.query("SELECT key_id FROM appstore.api_key(\(used.hash))")
            }
            #expect(try await database.lines("SELECT name FROM appstore.api_keys WHERE last_used_at IS NOT NULL") == ["used"])
            try await database.withConnection(user: "appstore_operator") { other in
                try await other.runScript("SET lock_timeout = '100ms'")
                let waited = await #expect(throws: PostgresError.self) { try await add(makeKey(), "shop", other) }
                #expect(waited?.sqlState == .lockNotAvailable)
                try await connection.runScript("COMMIT")
                let refused = await #expect(throws: PostgresError.self) { try await add(makeKey(), "shop", other) }
                #expect(refused?.sqlState == .uniqueViolation)
            }
        }
    }

    @Test func `a key ends at an instant or after a time`() async throws {
        let database = try await InboxDatabase.make()
        try await database.withConnection(user: "appstore_operator") { connection in
            let register = KeyRegister(connection)
            func add(_ name: String, until end: String) async throws {
                let end = try #require(KeyEnd(end))
                _ = try await register.add(
                    makeKey(),
                    name: name,
                    bundleIDs: nil,
                    environments: [.sandbox],
                    verbs: [.readEvents],
                    until: end
                )
            }
            try await add("instant", until: "2127-01-31T12:00:00Z")
            try await add("day", until: "2127-01-31")
            try await add("weeks", until: "2w")
            let ends = try await database.lines(
                """
                SELECT CASE name WHEN 'weeks' THEN (expires_at - created_at BETWEEN interval '335 hours' AND interval '336 hours')::text
                            ELSE to_char(expires_at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI') END
                FROM appstore.api_keys ORDER BY key_id
                """
            )
            #expect(ends == ["2127-01-31 12:00", "2127-01-31 00:00", "true"])
            let error = await #expect(throws: PostgresError.self) { try await add("past", until: "2020-01-31") }
            #expect(error?.message.hasPrefix("expires_at is in the past: 2020-01-31") == true)
        }
    }

    @Test(arguments: [
        "", "d", "0d", "-1d", "1.5d", "90", "90y", "tomorrow", "2027-02-30", "2027-01-31 12:00", "99999w", "9999999999999999999d",
    ])
    func `other text is no end of a key`(text: String) {
        #expect(KeyEnd(text) == nil)
    }

    @Test func `a key is revoked once, and an unknown number is named in the error`() async throws {
        let database = try await InboxDatabase.make()
        try await database.withConnection(user: "appstore_operator") { connection in
            let register = KeyRegister(connection)
            let keyID = try await register.add(makeKey(), name: "a", bundleIDs: nil, environments: [.sandbox], verbs: [.readEvents])
            #expect(try await register.revoke(keyID))
            #expect(try await !register.revoke(keyID))
            #expect(try await register.entries().first?.revokedAt != nil)
            let error = await #expect(throws: PostgresError.self) { try await register.revoke(keyID + 1) }
            #expect(error?.message == "there is no key \(keyID + 1)")
        }
        #expect(try await database.lines("SELECT count(*)::text FROM appstore.audit_log WHERE action = 'revoke_api_key'") == ["1"])
    }

    @Test(arguments: ["appstore_api", "appstore_ingest", "appstore_worker", "appstore_viewer", "appstore_backend"])
    func `only an operator makes or revokes keys`(role: String) async throws {
        let (database, key) = (try await InboxDatabase.make(), makeKey())
        try await database.withConnection(user: role) { connection in
            let register = KeyRegister(connection)
            await #expect(throws: PostgresError.self) {
                try await register.add(key, name: "a", bundleIDs: nil, environments: [.sandbox], verbs: [.readEvents])
            }
            await #expect(throws: PostgresError.self) { try await register.revoke(1) }
        }
    }

    @Test func `the table has the verbs of the program`() async throws {
        let database = try await InboxDatabase.make()
        let check = try await database.lines(
            "SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conname = 'api_keys_verbs_are_known'"
        )
        let text = try #require(check.first)
        for verb in Verb.allCases { #expect(text.contains("'\(verb.rawValue)'::text")) }
        #expect(text.split(separator: "::text,").count == Verb.allCases.count)
    }

    @Test func `the role of the API may call its functions and nothing else`() async throws {
        let database = try await InboxDatabase.make()
        let functions = try await database.lines(
            """
            SELECT p.proname::text FROM pg_proc AS p JOIN pg_namespace AS n ON n.oid = p.pronamespace
            WHERE n.nspname = 'appstore' AND has_function_privilege('appstore_api', p.oid, 'EXECUTE') ORDER BY p.proname::text COLLATE "C"
            """
        )
        let own = [
            "api_answer_consumption", "api_app_transactions", "api_call", "api_consumer", "api_consumption", "api_create_order",
            "api_entitlements", "api_event", "api_feed", "api_feed_entry", "api_give_consent", "api_key", "api_link_owner",
            "api_order", "api_receipt_charges", "api_receipt_question", "api_remove_consumer", "api_request_apple",
            "api_set_consumer", "api_set_user_token", "api_submit_app_transaction", "api_submit_receipt",
            "api_submit_transaction", "api_subscription", "api_user_orders", "api_withdraw_consent", "feed_end",
        ]
        #expect(functions == own)
        let readable = try await database.lines(
            """
            SELECT c.relname::text FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
            WHERE n.nspname = 'appstore' AND c.relkind IN ('r', 'p', 'v', 'm', 'S')
              AND (CASE WHEN c.relkind = 'S' THEN has_sequence_privilege('appstore_api', c.oid, 'USAGE, SELECT, UPDATE')
                        ELSE has_table_privilege('appstore_api', c.oid, 'SELECT, INSERT, UPDATE, DELETE, TRUNCATE')
                          OR has_any_column_privilege('appstore_api', c.oid, 'SELECT, INSERT, UPDATE') END)
            ORDER BY c.relname
            """
        )
        // The schema checks of a daemon.
        #expect(readable == ["fence", "schema_history"])
    }
}
