import EndToEndTesting
import Postgres
import PostgresTesting
import Testing

extension EndToEnd {
    /// The console as a daemon, and the links to it.
    @Suite struct ConsoleCommandTests {
        /// Runs `console login` as a login of the database.
        private func logIn(as user: String, to port: Int, _ installation: Installation) async throws -> Program.Result {
            try await Program.run(
                ["console", "login"],
                settings: [
                    "APPSTORE_INBOX_DATABASE_URL": installation.database.url(user: user),
                    "APPSTORE_INBOX_CONSOLE_LISTEN": "127.0.0.1:\(port)",
                ]
            )
        }

        @Test func `a person logs in by the link that the command prints, and sees the findings of doctor`() async throws {
            try await Installation.lend { installation in
                let (daemon, client) = try await installation.startConsole()
                #expect(try await client.get("/health").status == 401)
                let login = try await logIn(as: "appstore_viewer", to: client.port, installation)
                #expect(login.ending == .exit(0) && login.errors.contains("for appstore_viewer as viewer"), "\(login.errors)")
                let link = try #require(login.output.split(separator: "\n").first)
                let prefix = "http://appstore-inbox.localhost:\(client.port)/login?token="
                #expect(link.hasPrefix(prefix))
                let token = link.dropFirst(prefix.count)
                let form = ["content-type": "application/x-www-form-urlencoded", "sec-fetch-site": "same-origin"]
                let answer = try await client.connected { connection in
                    try connection.exchange("POST", "/login", fields: form, body: Array("token=\(token)".utf8))
                }
                #expect(answer.status == 303)
                let cookie = String(try #require(answer.fields["set-cookie"]).prefix { $0 != ";" })
                let page = try await client.connected { try $0.exchange("GET", "/health", fields: ["cookie": cookie]) }
                let text = String(decoding: page.body, as: UTF8.self)
                #expect(
                    page.status == 200 && text.contains("fsync") && text.contains("appstore_worker") && !text.contains("not checked"),
                    "\(text)"
                )
                #expect(!daemon.log.contains(token) && !daemon.log.contains(cookie))
                #expect(try await daemon.terminate() == .exit(0))
            }
        }

        @Test func `a person who may see bodies sees the checks of one, by the settings of the worker`() async throws {
            try await Installation.lend { installation in
                let person = "person_\(installation.database.name)"
                for statement: Statement in [
                    "CREATE ROLE \(unsafeRaw: person) LOGIN IN ROLE appstore_operator, appstore_bodies",
                    """
                    INSERT INTO appstore.inbox (event_id, source, received_at, body)
                    VALUES (1, 'notification_v2', now(), '{"signedPayload":"YQ.YQ.YQ"}')
                    """,
                    """
                    INSERT INTO appstore.outcomes (event_id, source, received_at, settled_at, run, attempts, result, reason)
                    VALUES (1, 'notification_v2', now(), now(), 1, 1, 'rejected', 'malformed')
                    """,
                ] { _ = try await installation.sql.execute(statement) }
                let (daemon, client) = try await installation.startConsole(["APPSTORE_INBOX_APPS": "com.example.shop"])
                let login = try await logIn(as: person, to: client.port, installation)
                let token = try #require(login.output.split(separator: "\n").first?.split(separator: "=").last, "\(login.errors)")
                var form = ["content-type": "application/x-www-form-urlencoded", "sec-fetch-site": "same-origin"]
                let answer = try await client.connected { [form] connection in
                    try connection.exchange("POST", "/login", fields: form, body: Array("token=\(token)".utf8))
                }
                form["cookie"] = String(try #require(answer.fields["set-cookie"]).prefix { $0 != ";" })
                let page = try await client.connected { [form] connection in
                    try connection.exchange("POST", "/events/1/checks", fields: form, body: Array("note=ticket".utf8))
                }
                let text = String(decoding: page.body, as: UTF8.self)
                #expect(page.status == 200 && text.contains("✗ ") && text.contains("not reached") && !text.contains("YQ.YQ"), "\(text)")
                #expect(try await daemon.terminate() == .exit(0))
                _ = try await installation.sql.execute("DROP ROLE \(unsafeRaw: person)")
            }
        }

        @Test func `without an address there is no console, and other logins than operators and viewers get no link`() async throws {
            try await Installation.lend { installation in
                let database = ["APPSTORE_INBOX_DATABASE_URL": installation.database.url(user: "appstore_console")]
                let result = try await Program.run(["console"], settings: database)
                #expect(result.ending == .exit(78) && result.errors.contains("console-listen is missing"), "\(result.errors)")
                let refused = try await logIn(as: "appstore_worker", to: 1, installation)
                #expect(refused.ending == .exit(1) && refused.output.isEmpty, "\(refused.errors)")
            }
        }
    }
}
