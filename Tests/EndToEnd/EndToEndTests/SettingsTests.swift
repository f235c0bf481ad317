import EndToEndTesting
import Foundation
import PostgresTesting
import Testing

extension EndToEndInterfaces {
    @Suite struct SettingsTests {
        struct Mistake: Sendable, CustomTestStringConvertible {
            var command: String
            var settings: [String: String]
            /// The text that the error must contain.
            var named: String

            var testDescription: String { "\(command): \(named)" }
        }

        private static let password = "correct-horse-battery"
        private static let usual = [
            "APPSTORE_INBOX_DATABASE_URL": "postgresql://user:\(password)@127.0.0.1/nowhere",
            "APPSTORE_INBOX_APPS": "com.example.tides",
        ]

        private static func mistake(_ command: String, _ name: String, _ value: String?, naming named: String? = nil) -> Mistake {
            var settings = usual
            settings[name] = value
            return Mistake(command: command, settings: settings, named: named ?? name)
        }

        static let mistakes = [
            mistake("migrate", "APPSTORE_INBOX_DATABASE_URL", nil),
            mistake("status", "APPSTORE_INBOX_DATABASE_URL", "host=127.0.0.1 password=\(password) flavour=strawberry"),
            mistake("ingest", "APPSTORE_INBOX_DATABASE_URL", "postgresql://user:\(password)@[::1/nowhere"),
            mistake("ingest", "APPSTORE_INBOX_LISTEN", "127.0.0.1:99999"),
            mistake("worker", "APPSTORE_INBOX_APPS", ""),
            mistake("worker", "APPSTORE_INBOX_EXTRA_ROOTS", "/etc/hosts", naming: "/etc/hosts"),
            mistake("worker", "APPSTORE_INBOX_LOG_LEVEL", "loud"),
            mistake("worker", "APPSTORE_INBOX_APPS", "1234567890", naming: "1234567890 is the Apple id of an app"),
            mistake(
                "worker",
                "APPSTORE_INBOX_OUTBOUND_ROOTS",
                "/etc",
                naming: "APPSTORE_INBOX_OUTBOUND_ROOTS: /etc cannot be read: it is a folder"
            ),
            mistake(
                "ingest",
                "APPSTORE_INBOX_ADMIN_LISTEN",
                "127.0.0.1:8080",
                naming: "--listen (APPSTORE_INBOX_LISTEN) and --admin-listen (APPSTORE_INBOX_ADMIN_LISTEN) have the same address"
            ),
        ]

        @Test(arguments: mistakes.filter { ["ingest", "worker"].contains($0.command) })
        func `--check-config refuses what a start refuses`(mistake: Mistake) async throws {
            let result = try await Program.run([mistake.command, "--check-config"], settings: mistake.settings)
            #expect(result.ending == .exit(78))
            #expect(result.errors.contains(mistake.named), "\(result.errors)")
            #expect(!(result.errors + result.output).contains(Self.password))
        }

        @Test func `--check-config reports at once everything that is wrong, and what is probably a mistake`() async throws {
            let settings = [
                "APPSTORE_INBOX_DATABASE_URL": "postgre://u:\(Self.password)@h/d", "APPSTORE_INBOX_APPS": "com.example.tides",
                "APPSTORE_INBOX_EXTRA_ROOTS": "/nonexistent.pem", "APPSTORE_INBOX_LISTN": "127.0.0.1:1",
                "APPSTORE_INBOX_SHARED_SECRETS": "com.example.dunes=\(Self.password)", "APPSTORE_INBOX_BATCH_SIZE": "many",
            ]
            let result = try await Program.run(["worker", "--check-config"], settings: settings)
            #expect(result.ending == .exit(78))
            #expect(
                Set(result.errors.split(separator: "\n")) == [
                    "APPSTORE_INBOX_DATABASE_URL: connection string: a URL must begin with postgresql:// or postgres://",
                    "APPSTORE_INBOX_EXTRA_ROOTS: /nonexistent.pem cannot be read: there is no such file",
                    #"APPSTORE_INBOX_BATCH_SIZE: must be a whole number from 1 to 1000, not "many""#,
                    "APPSTORE_INBOX_LISTN is not a setting: did you mean APPSTORE_INBOX_LISTEN?",
                    "APPSTORE_INBOX_SHARED_SECRETS: com.example.dunes has a shared secret and is not one of the apps",
                ],
                "\(result.errors)"
            )
        }

        @Test(
            arguments: [
                ["migrate"], ["key", "create", "x", "--verb", "orders:create"], ["key", "revoke", "1"], ["requeue", "1"],
                ["discard", "1", "--note", "x"], ["replay", "--from", "/dev/null"], ["status"], ["explain", "1"], ["verify"],
            ] as [[String]]
        )
        func `a command that does not check its settings does not accept --check-config`(arguments: [String]) async throws {
            let result = try await Program.run(arguments + ["--check-config"], settings: Self.usual)
            #expect(result.ending == .exit(2))
            #expect(result.errors.contains("Unknown option '--check-config'"), "\(result.errors)")
        }

        @Test(arguments: [["migrate"], ["status"], ["key", "list"], ["requeue"], ["explain"], ["replay"]] as [[String]])
        func `the help of a command has no options of the daemons`(command: [String]) async throws {
            let help = try await Program.run(command + ["--help"]).output
            for option in ["--prepared", "--shutdown-timeout", "--check-config", "--batch-size", "--worker-admin-listen", "--listen"] {
                #expect(!help.contains(option), "\(option)")
            }
        }

        @Test(arguments: ["bash", "zsh", "fish"])
        func `a completion script completes values`(shell: String) async throws {
            let script = try await Program.run(["--generate-completion-script", shell]).output
            for value in ["entitlements", "DID_RENEW", "Sandbox", "superseded", "trace", "local"] {
                #expect(script.contains(value), "\(value)")
            }
        }

        @Test func `--version names version, commit and schema`() async throws {
            for (program, name) in [(try BuiltProgram.path(), "appstore-inbox"), (try BuiltProgram.labPath(), "appstore-inbox-lab")] {
                let result = try await Program.run(["--version"], program: program)
                #expect(result.ending == .exit(0))
                let version = /(appstore-inbox|appstore-inbox-lab) 0\.2\.0, commit \S+, schema \d+\n/
                #expect(result.output.wholeMatch(of: version)?.1 == name[...])
            }
        }

        @Test func `a credential that cannot be read is not missing`() async throws {
            let folder = FileManager.default.temporaryDirectory.appending(path: "appstore-inbox-credentials-\(UUID().uuidString)")
            try FileManager.default.createDirectory(at: folder.appending(path: "database-url"), withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(at: folder) }
            let result = try await Program.run(["status"], settings: ["CREDENTIALS_DIRECTORY": folder.path])
            #expect(result.ending == .exit(78))
            #expect(result.errors == "the credential database-url: \(folder.path)/database-url cannot be read: it is a folder\n")
        }

        @Test(arguments: mistakes)
        func `a wrong setting is named and ends the program immediately`(mistake: Mistake) async throws {
            let result = try await Program.run([mistake.command], settings: mistake.settings)
            #expect(result.ending == .exit(78), "EX_CONFIG, for which the units do not restart")
            #expect(result.errors.contains(mistake.named), "\(result.errors)")
            #expect(!(result.errors + result.output).contains(Self.password))
        }

        @Test(arguments: [
            mistake("ingest", "APPSTORE_INBOX_SHUTDOWN_TIMEOUT", "soon"), mistake("worker", "APPSTORE_INBOX_SHUTDOWN_TIMEOUT", "soon"),
            // The documentation network (RFC 5737): no machine has the address.
            mistake("ingest", "APPSTORE_INBOX_LISTEN", "192.0.2.1:8080", naming: "192.0.2.1"),
            mistake("worker", "APPSTORE_INBOX_WORKER_ADMIN_LISTEN", "192.0.2.1:9090", naming: "192.0.2.1"),
        ]) func `the error that ends a daemon is part of its log`(mistake: Mistake) async throws {
            let usual = ["APPSTORE_INBOX_LOG_FORMAT": "json", "APPSTORE_INBOX_ADMIN_LISTEN": "127.0.0.1:\(FreePort.find())"]
            let result = try await Program.run([mistake.command], settings: usual.merging(mistake.settings) { $1 })
            #expect(result.ending == .exit(78))
            let lines = try result.errors.split(separator: "\n").map { try JSONDocument(String($0)) }
            let last = try #require(lines.last)
            #expect((last.text("level"), last.text("logger")) == ("error", "appstore-inbox.\(mistake.command)"))
            #expect(last.text("message")?.contains(mistake.named) == true, "\(result.errors)")
        }

        @Test(arguments: ["migrate", "status"])
        func `the error about an unreachable database has no password`(command: String) async throws {
            let url = "postgresql://user:\(Self.password)@127.0.0.1:\(FreePort.find())/nowhere"
            let result = try await Program.run([command], settings: ["APPSTORE_INBOX_DATABASE_URL": url])
            #expect(result.ending == .exit(1))
            #expect(result.errors.contains("127.0.0.1"), "\(result.errors)")
            #expect(!result.errors.contains(Self.password))
        }

        @Test(arguments: [[], ["migrate"], ["ingest"], ["worker"], ["verify"], ["status"], ["explain"], ["replay"]] as [[String]])
        func `each command has a help text`(command: [String]) async throws {
            let result = try await Program.run(command + ["--help"])
            #expect(result.ending == .exit(0))
            #expect(result.output.contains("USAGE: appstore-inbox "))
        }

        @Test(arguments: [[], ["trigger"], ["demo"], ["bench"]] as [[String]])
        func `each command of the lab explains itself`(command: [String]) async throws {
            let result = try await Program.run(command + ["--help"], program: BuiltProgram.labPath())
            #expect(result.ending == .exit(0))
            #expect(result.output.contains("USAGE: appstore-inbox-lab "))
        }

        @Test(arguments: [["levitate"], ["worker", "--levitate"], ["help", "levitate"], ["help", "key", "levitate"]])
        func `wrong usage ends with 2`(arguments: [String]) async throws {
            let result = try await Program.run(arguments)
            #expect(result.ending == .exit(2))
            #expect(result.errors.contains("levitate"))
        }
    }
}
