import EndToEndTesting
import PostgresTesting
import Testing

extension EndToEndInterfaces {
    /// How the built program detects that standard error is connected to the systemd journal.
    @Suite struct JournalTests {
        /// The value of `JOURNAL_STREAM`, as a shell expression: the shell has the program's streams before it executes the program.
        enum Stream: String, CaseIterable {
            case ofStandardError = "$(stat -L -c %d:%i /proc/$$/fd/2)"
            /// Another file beside it.
            case ofStandardOutput = "$(stat -L -c %d:%i /proc/$$/fd/1)"
            case ofAnotherDevice = "0:$(stat -L -c %i /proc/$$/fd/2)"
            case nothing = ""
        }

        private static let priorities = ["debug": "<7>", "info": "<6>", "notice": "<5>", "warning": "<4>", "error": "<3>"]

        @Test func `a daemon's log in the journal is JSON, each line after its priority`() async throws {
            var levels: [String] = []
            for line in try await daemonLog(.ofStandardError) {
                try #require(line.hasPrefix("<"), "\(line)")
                let level = try #require(try JSONDocument(String(line.dropFirst(3))).text("level"), "\(line)")
                #expect(String(line.prefix(3)) == Self.priorities[level], "\(line)")
                levels.append(level)
            }
            // The warning comes from the logger; the last message of a process does not.
            #expect(levels.contains("warning"))
            #expect(levels.last == "error")
        }

        @Test(arguments: [Stream.ofStandardOutput, .ofAnotherDevice, .nothing])
        func `a daemon's log elsewhere is text, each line after its time, whatever the environment`(stream: Stream) async throws {
            let log = try await daemonLog(stream)
            #expect(log.filter { $0.first?.isNumber != true } == [])
            #expect(log.contains { $0.contains(" WARNING: ") })
            #expect(log.last?.contains(" ERROR: ") == true)
        }

        @Test(arguments: Stream.allCases)
        func `a command's error has the priority of an error in the journal, and is plain text elsewhere`(stream: Stream) async throws {
            let lines = try await errorLines(of: "status", [:], stream)
            #expect(lines.contains { $0.contains("APPSTORE_INBOX_DATABASE_URL") })
            for line in lines { #expect(line.hasPrefix("<3>") == (stream == .ofStandardError), "\(line)") }
        }

        /// The log of an ingest with an unknown variable and an address of the documentation network (RFC 5737), which no machine has.
        private func daemonLog(_ stream: Stream) async throws -> [Substring] {
            let settings = [
                "APPSTORE_INBOX_DATABASE_URL": "postgresql://user@127.0.0.1/nowhere", "APPSTORE_INBOX_LISTEN": "192.0.2.1:8080",
                "APPSTORE_INBOX_ADMIN_LISTEN": "127.0.0.1:\(FreePort.find())", "APPSTORE_INBOX_LISTEM": "misspelt",
            ]
            return try await errorLines(of: "ingest", settings, stream)
        }

        /// The lines that a failing command writes to standard error.
        private func errorLines(of command: String, _ settings: [String: String], _ stream: Stream) async throws -> [Substring] {
            // The shell executes the program in its own process, like systemd's child.
            let script = (stream == .nothing ? "" : "export JOURNAL_STREAM=\"\(stream.rawValue)\"; ") + "exec \"$0\" \"$@\""
            let words = ["-c", script, try BuiltProgram.path(), command]
            let result = try await Program.run(words, settings: settings, program: "/bin/sh")
            #expect(result.ending == .exit(1) || result.ending == .exit(78), "\(result.errors)")
            let lines = result.errors.split(separator: "\n")
            #expect(!lines.isEmpty)
            return lines
        }
    }
}
