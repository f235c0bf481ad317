import EndToEndTesting
import Foundation
import PostgresTesting
import Testing

extension EndToEnd {
    /// Addresses at which a daemon cannot listen, and what the log says of refused requests.
    @Suite struct ListenerTests {
        /// A daemon and the setting of one of its listeners.
        enum Listener: String, CaseIterable, Sendable {
            case notifications = "LISTEN"
            case admin = "ADMIN_LISTEN"
            case api = "API_LISTEN"
            case worker = "WORKER_ADMIN_LISTEN"
            case console = "CONSOLE_LISTEN"

            var command: String {
                switch self {
                case .notifications, .admin, .api: "ingest"
                case .worker: "worker"
                case .console: "console"
                }
            }
            var variable: String { "APPSTORE_INBOX_\(rawValue)" }
            var name: String { "--\(rawValue.lowercased().replacing("_", with: "-")) (\(variable))" }
        }

        /// Runs a daemon that is expected to fail, and returns the only line of its log above notices.
        private func failure(of listener: Listener, at address: String, _ installation: Installation) async throws -> Substring {
            var settings = [
                "APPSTORE_INBOX_DATABASE_URL": installation.database.url(user: "appstore_\(listener.command)"),
                "APPSTORE_INBOX_APPS": "com.example.tides", listener.variable: address,
            ]
            for other in [Listener.notifications, .admin] where other != listener && listener.command == "ingest" {
                settings[other.variable] = "127.0.0.1:\(FreePort.find())"
            }
            if listener == .console { settings["APPSTORE_INBOX_CONSOLE_ORIGIN"] = "https://console.example" }
            if listener == .api { settings["APPSTORE_INBOX_API_DATABASE_URL"] = installation.database.url(user: "appstore_api") }
            let result = try await Program.run([listener.command], settings: settings)
            #expect(result.ending == .exit(78), "\(result.errors)")
            let lines = result.errors.split(separator: "\n").filter { !$0.contains(" NOTICE: ") }
            #expect(lines.count == 1, "\(result.errors)")
            return try #require(lines.first)
        }

        @Test(arguments: Listener.allCases)
        func `the setting is named, with the reason and nothing else`(listener: Listener) async throws {
            try await Installation.lend { installation in
                let taken = try await installation.startIngest()
                let cases = [
                    ("127.0.0.1:\(taken.client.port)", "the address is taken, by another process or another listener"),
                    ("nosuchhost.invalid:8080", "the host name cannot be resolved ("),
                    // No process may make a file there.
                    ("unix:/sys/socket", "the process may not write to the folder"),
                    ("unix:\(installation.folder.path)/nowhere/socket", "the folder does not exist"),
                    // The documentation network (RFC 5737).
                    ("192.0.2.1:8080", "no network interface of this machine has the address"),
                ]
                for (address, reason) in cases {
                    let line = try await failure(of: listener, at: address, installation)
                    #expect(line.contains(" ERROR: \(listener.name): cannot listen at \(address): \(reason)"), "\(line)")
                    #expect(!line.contains("errno") && line.filter { $0 == "(" }.count == line.filter { $0 == ")" }.count, "\(line)")
                }
            }
        }

        @Test(arguments: [(Listener.notifications, Listener.admin), (.notifications, .api), (.admin, .api)])
        func `two listeners with one address are named`(first: Listener, second: Listener) async throws {
            var settings = [
                "APPSTORE_INBOX_DATABASE_URL": "host=/nowhere", "APPSTORE_INBOX_API_DATABASE_URL": "host=/nowhere",
                "APPSTORE_INBOX_API_LISTEN": "127.0.0.1:3",
            ]
            for listener in [first, second] { settings[listener.variable] = "127.0.0.1:1" }
            let result = try await Program.run(["ingest"], settings: settings)
            #expect(result.ending == .exit(78))
            #expect(
                result.errors.hasSuffix(" ERROR: \(first.name) and \(second.name) have the same address 127.0.0.1:1\n"),
                "\(result.errors)"
            )
            #expect(result.errors.split(separator: "\n").count == 1)
        }

        @Test func `refused requests are summarised in the log, without their bodies and tokens`() async throws {
            try await Installation.lend { installation in
                let (ingest, api) = try await installation.startIngestWithAPI(["APPSTORE_INBOX_LOG_FORMAT": "json"])
                let secret = "WhatOnlyTheClientKnows"
                for _ in 1...3 { #expect(try await ingest.client.post(Array(#"{"\#(secret)":1}"#.utf8)).status == 400) }
                for _ in 1...2 { #expect(try await ingest.client.get("/apple/v2/notifications/?\(secret)").status == 404) }
                #expect(try await api.get("/v1/users/\(secret)/entitlements").status == 401)
                #expect(try await api.get("/v1/users/\(secret)").status == 404)
                #expect(try await ingest.daemon.terminate() == .exit(0))
                let lines = try ingest.daemon.log.split(separator: "\n").map { try JSONDocument(String($0)) }
                    .filter { $0.text("message") == "requests were refused" }
                let summaries = lines.map { line in
                    ["listener", "refused.status", "refused.reason", "refused.path", "count"].map {
                        line.document("metadata")?.text($0) ?? ""
                    }
                }
                #expect(
                    summaries.prefix(2) == [
                        ["notifications", "400", "no-signed-payload", "/apple/v2/notifications", "3"],
                        ["notifications", "404", "not-found", "/apple/v2/notifications/", "2"],
                    ]
                )
                #expect(
                    Set(summaries.dropFirst(2)) == [
                        ["api", "401", "unauthorized", "/v1/users/{user}/entitlements", "1"],
                        ["api", "404", "not-found", "(unknown)", "1"],
                    ]
                )
                #expect(!ingest.daemon.log.contains(secret))
            }
        }
    }
}
