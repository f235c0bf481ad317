import EndToEndTesting
import Foundation
import Randomness
import Testing

extension EndToEnd {
    /// A connection string that cannot be read, and text in the wrong place, is never printed.
    @Suite struct SecretTests {
        /// How a setting comes to the program.
        private enum Way: CaseIterable {
            case flag, joinedFlag, unquotedFlag, environment, file, credential, json, brokenJSON, jsonName, fileName, otherSetting, apps,
                secrets
        }

        private static let commands = [
            ["status"], ["ingest", "--check-config"], ["worker", "--check-config"], ["status", "--log-level", "trace"],
        ]

        @Test func `no output contains a password of a malformed connection string, however it is given`() async throws {
            let seed = ProcessInfo.processInfo.environment["SECRET_SEED"].flatMap(UInt64.init) ?? .random(in: 0 ... .max)
            var generator = SeededGenerator(seed: seed)
            print("SECRET_SEED=\(seed)")
            var refused = 0
            for way in Way.allCases {
                for index in 0..<30 {
                    let text = MalformedConnectionString(using: &generator)
                    let command = Self.commands.randomElement(using: &generator) ?? ["status"]
                    let result = try await run(command, text.text, way)
                    let printed = result.output + result.errors
                    let about: Comment = "SECRET_SEED=\(seed), \(way) \(index): \(text.text.debugDescription) printed \(printed)"
                    #expect(text.halves.allSatisfy { !printed.contains($0) }, about)
                    // Some of the mistakes make another connection string that is valid.
                    if result.ending != .exit(0) { refused += 1 }
                }
            }
            #expect(refused > 30 * Way.allCases.count * 9 / 10)
        }

        /// Runs a command with the text as its database's address, or where it does not belong.
        private func run(_ command: [String], _ text: String, _ way: Way) async throws -> Program.Result {
            let folder = FileManager.default.temporaryDirectory.appending(path: "appstore-inbox-secret-\(UUID().uuidString)")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(at: folder) }
            func write(_ name: String, _ text: String) throws -> String {
                try Data(text.utf8).write(to: folder.appending(path: name))
                return folder.appending(path: name).path
            }
            let quoted = String(decoding: try JSONEncoder().encode(text), as: UTF8.self)
            var (arguments, settings) = (command, ["RES_OPTIONS": "timeout:1 attempts:1", "APPSTORE_INBOX_APPS": "com.example.app"])
            let variable = "APPSTORE_INBOX_DATABASE_URL"
            switch way {
            case .flag: arguments += ["--database-url", text]
            case .joinedFlag: arguments.append("--database-url=\(text)")
            case .unquotedFlag: arguments += ["--database-url"] + text.split(separator: " ").map(String.init)
            case .environment: settings[variable] = text
            case .file: settings[variable + "_FILE"] = try write("url", text)
            case .credential:
                _ = try write("database-url", text)
                settings["CREDENTIALS_DIRECTORY"] = folder.path
            case .json: arguments += ["--config", try write("c.json", #"{"database-url": \#(quoted)}"#)]
            case .brokenJSON: arguments += ["--config", try write("c.json", #"{"database-url": \#(text)}"#)]
            case .jsonName: arguments += ["--config", try write("c.json", #"{\#(quoted): "database-url"}"#)]
            case .fileName: settings[variable + "_FILE"] = text
            case .otherSetting: settings.merge(["APPSTORE_INBOX_LISTEN": text, "APPSTORE_INBOX_LOG_LEVEL": text]) { $1 }
            case .apps: settings["APPSTORE_INBOX_APPS"] = text
            case .secrets: settings["APPSTORE_INBOX_SHARED_SECRETS"] = text
            }
            return try await Program.run(arguments, settings: settings)
        }
    }
}

/// A connection string with a mistake, and with a password whose halves are recognizable.
private struct MalformedConnectionString {
    /// Of the password: a mistake may cut it in two.
    let halves: [String]
    private(set) var text: String

    init(using generator: inout SeededGenerator) {
        func pick<T>(_ values: [T], _ generator: inout SeededGenerator) -> T { values[Int.random(in: values.indices, using: &generator)] }
        let letters = Array("bcdfghjkmnpqrstvwxz")
        halves = (0..<2).map { _ in String((0..<8).map { _ in pick(letters, &generator) }) }
        let password = halves.joined(
            separator: pick(["", "@", "/", "%", "%4", ":", " ", "'", "\"", "\\", "?", "#", "&", "=", ";", "\t"], &generator)
        )
        if Bool.random(using: &generator) {
            let scheme = pick(
                ["postgre", "postgres", "postgresql", "Postgres", "postgresql+ssl", "jdbc:postgresql", "mysql", "http"],
                &generator
            )
            let separator = pick(["://", ":/", ":", "//", ":// "], &generator)
            let query = pick(["", "?sslmode", "?password=\(password)", "?pasword=\(password)", "?sslmode=\(password)", "?a=b"], &generator)
            text = "\(scheme)\(separator)u:\(password)@127.0.0.1:1/d\(query)"
        } else {
            let key = pick(["password=", "password =", "pasword=", "PASSWORD=", "password:", "password ", "password='"], &generator)
            let parts = ["host=127.0.0.1", "port=1", "user=u", "\(key)\(password)"].shuffled(using: &generator)
            text = parts.joined(separator: pick([" ", ",", ";", "&", ", ", "  "], &generator))
        }
        if Int.random(in: 0..<3, using: &generator) == 0 {
            let place = text.index(text.startIndex, offsetBy: Int.random(in: 0...text.count, using: &generator))
            text.insert(pick(["'", "\"", " ", "%", "@", "=", ":", "\u{1}", "\u{7F}", "\n", "["], &generator), at: place)
        }
    }
}
