import HTTPServingTesting
import InboxTesting
import Postgres
import PostgresTesting
import Schema
import Testing

@testable import ShopAPI

/// Behaviour common to all routes: HTTP, health, an unavailable database, retries, and the log.
@Suite(.timeLimit(.minutes(2)))
struct OperationTests {
    private static let order = #"{"user":"ann-the-customer","product":"pro.monthly"}"#

    @Test func `paths, methods, media types and lengths are checked`() async throws {
        try await RunningAPI.run { api in
            let key = try await api.makeKey()
            #expect(try await api.exchange("GET", "/v1/nothing", key: key).problem == "not-found")
            #expect(try await api.exchange("GET", "/v1/users/ann", key: key).problem == "not-found")
            #expect(try await api.exchange("GET", "/v1/users/a/b/entitlements", key: key).problem == "not-found")
            let method = try await api.exchange("DELETE", "/v1/orders", key: key)
            #expect((method.status, method.headers["allow"]) == (405, "POST"))
            let put = try await api.exchange("POST", "/v1/contracts/70/owner", key: key, json: "{}")
            #expect((put.status, put.headers["allow"]) == (405, "PUT"))
            let get = try await api.exchange("PUT", "/v1/users/a/entitlements", key: key, json: "{}")
            #expect((get.status, get.headers["allow"]) == (405, "GET, HEAD"))
            for fields in ["Content-Type: text/plain\r\n", "", "Content-Type: application/json\r\nContent-Encoding: gzip\r\n"] {
                #expect(try await api.exchange("POST", "/v1/orders", key: key, json: Self.order, fields: fields).status == 415)
            }
            let large = #"{"user":"\#(String(repeating: "x", count: 262_144))"}"#
            #expect(try await api.exchange("POST", "/v1/orders", key: key, json: large).problem == "content-too-large")
        }
    }

    @Test func `health and the API description need no key`() async throws {
        try await RunningAPI.run { api in
            #expect(try await api.exchange("GET", "/livez").body == "alive\n")
            #expect(try await api.exchange("GET", "/readyz").body == "ready\n")
            let description = try await api.exchange("GET", "/openapi.json")
            #expect((description.status, description.headers["content-type"]) == (200, "application/json"))
            #expect(description.body == OpenAPI.text)
            let head = try await api.exchange("HEAD", "/openapi.json")
            #expect((head.status, head.headers["content-length"]) == (200, "\(OpenAPI.text.utf8.count)"))
        }
    }

    @Test func `without its database the API answers 503 with Retry-After, and recovers`() async throws {
        let cluster = try await TestCluster.startPrivate()
        let database = try await cluster.makeDatabase(
            prepare: { url in
                let connection = try await Connection.open(ConnectionOptions(url), logger: .silent)
                _ = try await SchemaMigrator(connection: connection, logger: .silent).migrate()
                await connection.close()
            },
            templateKey: "schema"
        )
        try await RunningAPI.run(database: database) { api in
            let key = try await api.makeKey()
            #expect(try await api.exchange("POST", "/v1/orders", key: key, json: Self.order).status == 201)
            await cluster.stop()
            let answer = try await api.exchange("POST", "/v1/orders", key: key, json: Self.order)
            #expect((answer.status, answer.problem) == (503, "database-unavailable"))
            #expect(answer.headers["retry-after"] == "1")
            #expect(try await api.exchange("GET", "/readyz").status == 503)
            #expect(try await api.exchange("GET", "/livez").status == 200)
            #expect(try await api.exchange("GET", "/v1/users/a/entitlements").status == 401, "without a key the database is not used")
            try await cluster.launch()
            while try await api.exchange("GET", "/readyz").status != 200 {}
            #expect(try await api.exchange("POST", "/v1/orders", key: key, json: Self.order).status == 201)
        }
        await cluster.stop()
    }

    @Test(arguments: [("40001", 3, 201), ("40P01", 3, 201), ("55P03", 3, 201), ("40001", 4, 503)])
    func `a conflict with another transaction is retried three times`(state: String, failures: Int, status: Int) async throws {
        let database = try await InboxDatabase.make()
        // A rollback does not reset a sequence: it counts the attempts.
        try await database.change("CREATE SEQUENCE public.attempts")
        try await database.change("GRANT USAGE ON SEQUENCE public.attempts TO PUBLIC")
        try await database.change(
            """
            CREATE FUNCTION public.raise_conflict() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN
                IF nextval('public.attempts') <= TG_ARGV[0]::integer THEN
                    RAISE EXCEPTION 'conflict' USING ERRCODE = TG_ARGV[1];
                END IF;
                RETURN NEW;
            END $$
            """
        )
        try await database.change(
            """
            CREATE TRIGGER raise_conflict BEFORE INSERT ON appstore.token_orders FOR EACH ROW
            EXECUTE FUNCTION public.raise_conflict(\(unsafeRaw: "'\(failures)', '\(state)'"))
            """
        )
        try await RunningAPI.run(database: database) { api in
            let answer = try await api.exchange("POST", "/v1/orders", key: try await api.makeKey(), json: Self.order)
            #expect(answer.status == status)
            #expect(try await database.lines("SELECT (last_value >= 4)::text FROM public.attempts") == ["true"])
        }
    }

    @Test func `a permanent refusal by the database is an internal error without details`() async throws {
        let database = try await InboxDatabase.make()
        try await RunningAPI.run(database: database) { api in
            let key = try await api.makeKey()
            try await database.change(
                "REVOKE EXECUTE ON FUNCTION appstore.api_create_order(bytea, text, text, uuid, text) FROM appstore_api"
            )
            let answer = try await api.exchange("POST", "/v1/orders", key: key, json: Self.order)
            #expect((answer.status, answer.problem) == (500, "internal-error"))
            #expect(!answer.body.contains("api_create_order"))
            #expect(api.log.text.contains("the database refused a statement"))
        }
    }

    @Test func `no key, transaction or user is logged`() async throws {
        let database = try await InboxDatabase.make()
        try await RunningAPI.run(database: database) { api in
            let key = try await api.makeKey()
            let jws = "c2VjcmV0LWhlYWRlcg.c2VjcmV0LXBheWxvYWQ.c2VjcmV0LXNpZ25hdHVyZQ"
            let transaction = #"{"signedTransaction":"\#(jws)","user":"ann-the-customer"}"#
            _ = try await api.exchange("POST", "/v1/orders", key: key, json: Self.order)
            _ = try await api.exchange("POST", "/v1/transactions", key: key, json: transaction)
            let receipt = #"{"receiptData":"c2VjcmV0LXBheWxvYWQ=","user":"ann-the-customer"}"#
            _ = try await api.exchange("POST", "/v1/receipts", key: key, json: receipt)
            _ = try await api.exchange("GET", "/v1/users/ann-the-customer/entitlements", key: key)
            _ = try await api.exchange("GET", "/v1/users/ann-the-customer/nothing", key: key)
            try await database.change("ALTER TABLE appstore.token_orders ADD CHECK (user_id <> 'ann-the-customer') NOT VALID")
            #expect(try await api.exchange("POST", "/v1/orders", key: key, json: Self.order).status == 500)
            #expect(!api.log.text.isEmpty)
            let hash = try #require(APIKey(key.text)).hash.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
            for secret in [key.text, hash, jws, "c2VjcmV0LXBheWxvYWQ", "ann-the-customer"] { #expect(!api.log.text.contains(secret)) }
        }
    }
}
