import EndToEndTesting
import Foundation
import Postgres
import PostgresTesting
import Testing

extension EndToEndInterfaces {
    /// Operation of the API: settings, keys, log and shutdown.
    @Suite struct APIOperationTests {
        private static let jws = "c2VjcmV0LWhlYWRlcg.c2VjcmV0LXBheWxvYWQ.c2VjcmV0LXNpZ25hdHVyZQ"

        @Test func `a backend that does not wait finds the outcome at the event's path`() async throws {
            let shop = try Shop()
            try await Installation.lend { installation in
                let (_, api) = try await installation.startIngestWithAPI()
                let backend = try await installation.makeBackend(api)
                let answer = try await backend.submit(Array(Self.jws.utf8), user: "ann", wait: 1)
                #expect(answer.status == 202, "no worker runs")
                let path = try #require(answer.fields["location"])
                #expect(try await backend.send("GET", path).document().text("state") == "waiting")
                _ = try await installation.startWorker(for: shop)
                let event = try await eventually("the event is settled") {
                    let event = try await backend.send("GET", path).document()
                    return event.text("state") == "settled" ? event : nil
                }
                #expect(event.text("result") == "rejected")
            }
        }

        @Test func `keys are made, listed and revoked`() async throws {
            try await Installation.lend { installation in
                let (_, api) = try await installation.startIngestWithAPI()
                #expect(try await installation.key(["list"]).output == "There are no keys.\n")
                let made = try await installation.key([
                    "create", "web shop", "--verb", "entitlements:read", "--app", "com.example.tides", "--environment", "Sandbox",
                ])
                #expect(made.ending == .exit(0), "\(made.errors)")
                let key = made.output.trimmingCharacters(in: .newlines)
                #expect(made.errors == "key 1 for web shop: it cannot be shown again\n")
                let backend = ShopBackend(client: api, key: key)
                #expect(try await backend.send("GET", "/v1/users/ann/entitlements?environment=Sandbox").status == 200)
                #expect(try await backend.send("GET", "/v1/users/ann/entitlements").problem == "environment-not-covered")
                #expect(try await backend.send("GET", "/v1/events/1").problem == "verb-not-covered")

                let list = try await installation.key(["list", "--json"])
                let entry = try list.json()
                #expect((entry.number("id"), entry.text("name")) == ("1", "web shop"))
                #expect(entry.text("lastUsedAt") != nil)
                #expect(!list.output.contains(key))
                #expect(try await installation.key(["revoke", "1"]).output == "Key 1 is revoked.\n")
                #expect(try await backend.send("GET", "/v1/users/ann/entitlements?environment=Sandbox").status == 401)
                #expect(try await installation.key(["revoke", "1"]).output == "Key 1 was already revoked.\n")
                #expect(try await installation.key(["list"]).output.contains("web shop"))

                let ending = try await installation.key(["create", "web shop", "--verb", "orders:read", "--expires", "2127-01-31"])
                #expect(ending.ending == .exit(0), "a revoked key frees its name: \(ending.errors)")
                #expect(try await installation.key(["list"]).output.contains("never used, expires 2127-01-31T00:00:00.000Z"))
                let same = try await installation.key(["create", "web shop", "--verb", "orders:read"])
                #expect(same.ending == .exit(1) && same.errors.contains("key 2 has the name 'web shop' already"), "\(same.errors)")
            }
        }

        @Test func `an error in a key command is named`() async throws {
            try await Installation.lend { installation in
                for (arguments, code, named) in [
                    (["create", "shop"], 2, "--verb"), (["create", "shop", "--verb", "everything"], 2, "everything"),
                    (["create", "shop", "--verb", "events:read", "--environment", "Xcode"], 2, "Xcode"), (["revoke", "x"], 2, "x"),
                    (["create", "shop", "--verb", "events:read", "--expires", "tomorrow"], 2, "tomorrow"),
                    (["revoke", "77"], 1, "there is no key 77"),
                ] {
                    let result = try await installation.key(arguments)
                    #expect(result.ending == .exit(Int32(code)))
                    #expect(result.errors.contains(named), "\(result.errors)")
                }
                let viewer = ["APPSTORE_INBOX_DATABASE_URL": installation.database.url(user: "appstore_viewer")]
                let refused = try await Program.run(["key", "create", "shop", "--verb", "events:read"], settings: viewer)
                #expect((refused.ending, refused.output) == (.exit(1), ""))
                #expect(refused.errors.contains("permission denied for function make_api_key"), "\(refused.errors)")
            }
        }

        @Test func `the API needs its own connection string, which may be a credential`() async throws {
            try await Installation.lend { installation in
                let listen = "127.0.0.1:\(FreePort.find())"
                let settings = [
                    "APPSTORE_INBOX_DATABASE_URL": installation.database.url(user: "appstore_ingest"), "APPSTORE_INBOX_API_LISTEN": listen,
                ]
                let without = try await Program.run(["ingest"], settings: settings)
                #expect(without.ending == .exit(78))
                #expect(without.errors.contains("APPSTORE_INBOX_API_DATABASE_URL"), "\(without.errors)")

                let url = installation.database.url(user: "appstore_api")
                try Data((url + "\n").utf8).write(to: installation.folder.appending(path: "api-database-url"))
                let credentials = ["CREDENTIALS_DIRECTORY": installation.folder.path]
                let checked = try await Program.run(["ingest", "--check-config"], settings: settings.merging(credentials) { $1 })
                #expect(checked.ending == .exit(0), "\(checked.errors)")
                #expect(checked.output.contains(installation.folder.appending(path: "api-database-url").path))
                #expect(!checked.output.contains(url))
            }
        }

        @Test func `the log contains no key, transaction or user`() async throws {
            try await Installation.lend { installation in
                let (ingest, api) = try await installation.startIngestWithAPI(["APPSTORE_INBOX_LOG_LEVEL": "trace"])
                let backend = try await installation.makeBackend(api)
                _ = try await backend.makeOrder(user: "ann-the-customer", product: "p")
                _ = try await backend.submit(Array(Self.jws.utf8), user: "ann-the-customer", wait: 0)
                _ = try await backend.usable(by: "ann-the-customer")
                _ = try await backend.send("GET", "/v1/users/ann-the-customer/nothing")
                _ = try await ShopBackend(client: api, key: "asinbox_secret").send("GET", "/v1/users/ann-the-customer/entitlements")
                #expect(try await ingest.daemon.terminate() == .exit(0))
                #expect(ingest.daemon.log.contains("the API is listening"))
                for secret in [backend.key, "asinbox_", "c2VjcmV0LXBheWxvYWQ", "ann-the-customer"] {
                    #expect(!ingest.daemon.log.contains(secret))
                }
            }
        }

        @Test func `SIGTERM does not wait for requests that wait for an outcome`() async throws {
            try await Installation.lend { installation in
                let (ingest, api) = try await installation.startIngestWithAPI()
                let backend = try await installation.makeBackend(api)
                async let answer = backend.submit(Array(Self.jws.utf8), user: "ann", wait: 10)
                try await eventually("the transaction is stored") {
                    try await installation.sql.value(Int.self, "SELECT count(*) FROM appstore.inbox") == 1
                }
                let start = ContinuousClock.now
                #expect(try await ingest.daemon.terminate() == .exit(0))
                #expect(start.duration(to: .now) < .seconds(6))
                #expect(try await answer.status == 202)
            }
        }

        @Test func `notifications are accepted and readyz is 200 while the API's role cannot log in`() async throws {
            let shop = try Shop()
            try await Installation.lend { installation in
                let (ingest, api) = try await installation.startIngestWithAPI([
                    "APPSTORE_INBOX_API_DATABASE_URL": installation.database.url(user: "missing_role")
                ])
                #expect(try await api.get("/readyz").status == 503)
                #expect(try await api.get("/livez").status == 200)
                #expect(try await ingest.admin.get("/readyz").status == 200)
                var one = shop
                #expect(try await ingest.client.post(one.body(try one.purchases(1)[0])).status == 200)
            }
        }
    }
}
