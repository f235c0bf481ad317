import AppStore
import HTTPServingTesting
import InboxTesting
import Postgres
import PostgresTesting
import Testing

@testable import ShopAPI

/// The database checks each key again. Its refusals have the same answers as those of the API.
@Suite(.timeLimit(.minutes(2)))
struct KeyRefusalTests {
    /// Replaces the function behind the API's own check: every key covers everything.
    private func disableOwnCheck(_ database: TestDatabase) async throws {
        try await database.change(
            """
            CREATE OR REPLACE FUNCTION appstore.api_key(key_hash bytea)
            RETURNS TABLE (key_id integer, bundle_ids text[], environments text[], verbs text[])
            LANGUAGE sql SECURITY DEFINER AS $$
                SELECT 1, NULL::text[], ARRAY['Production', 'Sandbox'], ARRAY(
                    SELECT m[1] FROM pg_constraint AS c, regexp_matches(pg_get_constraintdef(c.oid), '''([a-z]+:[a-z]+)''', 'g') AS m
                    WHERE c.conname = 'api_keys_verbs_are_known')
            $$
            """
        )
    }

    @Test func `a key that is revoked during its request is unauthorized`() async throws {
        try await RunningAPI.run { api in
            let key = try await api.makeKey()
            try await disableOwnCheck(api.database)
            try await api.database.withConnection(user: "appstore_operator") { _ = try await KeyRegister($0).revoke(key.id) }
            for operation in ScopeTests.operations {
                let answer = try await api.exchange(operation.method, operation.path, key: key, json: operation.json)
                #expect((answer.status, answer.problem) == (401, "unauthorized"), "\(operation)")
                #expect(answer.headers["www-authenticate"] == #"Bearer realm="appstore-inbox""#)
            }
            #expect(!api.log.text.contains("the database refused a statement"))
        }
    }

    @Test func `a key without the verb, environment or app is forbidden`() async throws {
        try await RunningAPI.run { api in
            let posting = try await api.makeKey([.submitTransactions], environments: [.production], apps: ["com.example.tides"])
            let sandbox = try await api.makeKey(environments: [.sandbox])
            try await disableOwnCheck(api.database)
            let link = try await api.exchange("PUT", "/v1/contracts/70/owner", key: posting, json: #"{"user":"ann"}"#)
            #expect((link.status, link.problem) == (403, "verb-not-covered"))
            #expect(try link.json()["verb"]?.text == "contracts:link")
            let entitlements = try await api.exchange("GET", "/v1/users/ann/entitlements", key: sandbox)
            #expect((entitlements.status, entitlements.problem) == (403, "environment-not-covered"))
            // The API's own check allows any app.
            let post = #"{"signedTransaction":"YQ.YQ.YQ"}"#
            let transaction = try await api.exchange("POST", "/v1/transactions", key: posting, json: post)
            #expect((transaction.status, transaction.problem) == (403, "app-not-covered"))
            #expect(try await api.database.lines("SELECT count(*)::text FROM appstore.inbox") == ["0"])
        }
    }
}
