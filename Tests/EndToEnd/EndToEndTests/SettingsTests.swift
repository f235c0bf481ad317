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
        ]

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

        @Test(arguments: [["levitate"], ["worker", "--levitate"]])
        func `wrong usage ends with 2`(arguments: [String]) async throws {
            let result = try await Program.run(arguments)
            #expect(result.ending == .exit(2))
            #expect(result.errors.contains("levitate"))
        }
    }
}
