package import ArgumentParser
import CBuild
import CGlibc
import FoundationEssentials
import Glibc
import Postgres
import SQL

/// Runs a command of either program and ends the process.
package enum Program {
    /// Runs the command that the arguments name and ends the process: 0 for success, 1 for failure, 2 for wrong usage,
    /// ``SettingsError/exitCode`` for wrong settings. Errors go to standard error without the usage text; a daemon's are lines of its log.
    package static func run(_ root: (some AsyncParsableCommand).Type) async -> Never {
        FreedMemory.keepForLater()
        var daemon: (any DaemonCommand)?
        do {
            try requireKnownTopic(of: root)
            var command = try root.parseAsRoot()
            daemon = command as? any DaemonCommand
            if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                try command.run()
            }
            Glibc.exit(EXIT_SUCCESS)
        } catch let error as SettingsError {
            end(daemon, "\(error)", code: SettingsError.exitCode)
        } catch let error as ExitCode {
            Glibc.exit(error.rawValue)
        } catch {
            let code = root.exitCode(for: error)
            if code.isSuccess {
                print(root.fullMessage(for: error))
                Glibc.exit(EXIT_SUCCESS)
            }
            let message = daemon == nil ? root.fullMessage(for: error) : "\(error)"
            end(daemon, message + remedy(error), code: code == .validationFailure ? 2 : EXIT_FAILURE)
        }
    }

    /// `help` shows the root's help for an unknown word, and succeeds.
    private static func requireKnownTopic(of root: any ParsableCommand.Type) throws {
        guard let words = Optional(CommandLine.arguments.dropFirst()), words.first == "help" else { return }
        var command = root
        for word in words.dropFirst() where !word.hasPrefix("-") {
            guard let next = command.configuration.subcommands.first(where: { $0.configuration.commandName == word }) else {
                throw ValidationError("there is no command '\(word)'")
            }
            command = next
        }
    }

    /// What helps against an error of PostgreSQL, on a line of its own.
    static func remedy(_ error: any Error) -> String {
        guard let error = error as? PostgresError else { return "" }
        if error.sqlState == .insufficientPrivilege { return "\nConnect as the role that --help names." }
        return error.hint.map { "\nHINT: \($0)" } ?? ""
    }

    private static func end(_ daemon: (any DaemonCommand)?, _ message: String, code: Int32) -> Never {
        let isJournal = LogOutput.isJournal(environment: ProcessInfo.processInfo.environment)
        let message = message.withoutSecrets(ofArguments: Array(CommandLine.arguments.dropFirst()))
        if let daemon {
            daemon.reportFailure(message, isJournal: isJournal)
        } else {
            LogOutput.standardError.write(LogStyle.failureLines(message, isJournal: isJournal))
        }
        Glibc.exit(code)
    }
}

/// The program: its daemons, `ingest`, `worker` and `console`, and the operator's commands.
package struct AppStoreInbox: AsyncParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "appstore-inbox",
        abstract: "Absorbs Apple's App Store notifications into PostgreSQL: none lost, none twice, in any order.",
        discussion: """
            A setting is read from its flag, else from its environment variable APPSTORE_INBOX_…, else from the file that --config or \
            APPSTORE_INBOX_CONFIG names (NAME=value lines, or JSON), else it has its default.
            """,
        version: "appstore-inbox \(Build.description)",
        subcommands: [
            MigrateCommand.self, IngestCommand.self, WorkerCommand.self, StatusCommand.self, DoctorCommand.self, TailCommand.self,
            UserCommand.self, ExplainCommand.self, VerifyCommand.self, RequeueCommand.self, DiscardCommand.self, ReplayCommand.self,
            KeyCommand.self, EndpointCommand.self, RedeliverCommand.self, ConsumptionCommand.self, HistoryCommand.self,
            ReconcileCommand.self, ImportCommand.self, AppleCommand.self, ConsoleCommand.self,
        ]
    )

    package init() {}
}

/// What was built.
package enum Build {
    package static let version = "0.2.0"

    /// The commit, if the environment of `swift build` named it in `APPSTORE_INBOX_COMMIT`, else `unknown`.
    package static let commit: String = {
        let commit = String(cString: appstore_inbox_commit())
        return commit.isEmpty ? "unknown" : commit
    }()

    /// The version of the schema that this program makes.
    package static let schema = SchemaManifest().version

    /// One line for `--version`.
    package static let description = "\(version), commit \(commit), schema \(schema)"
}

/// How glibc handles freed memory.
private enum FreedMemory {
    /// Keeps freed pages in the process and shares arenas among its threads. Call once, before any thread starts.
    ///
    /// Batches allocate and free megabytes many times a second. By default glibc returns these pages to the kernel, which clears them again
    /// for the next batch, and keeps a separate arena for each thread.
    static func keepForLater() {
        _ = mallopt(M_TRIM_THRESHOLD, 16 << 20)
        _ = mallopt(M_MMAP_THRESHOLD, 16 << 20)
        _ = mallopt(M_TOP_PAD, 1 << 20)
        _ = mallopt(M_ARENA_MAX, Int32(ProcessInfo.processInfo.activeProcessorCount))
    }
}
