import ArgumentParser
import FoundationEssentials
import Glibc

extension AppStoreInbox {
    /// Runs the command that the arguments name and ends the process: 0 for success, 1 for failure, 2 for wrong usage,
    /// ``SettingsError/exitCode`` for wrong settings. Errors go to standard error, without usage noise; those of a daemon are the last
    /// lines of its log.
    package static func run() async -> Never {
        FreedMemory.keepForLater()
        var daemon: (any DaemonCommand)?
        do {
            var command = try parseAsRoot()
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
            let code = exitCode(for: error)
            if code.isSuccess {
                print(fullMessage(for: error))
                Glibc.exit(EXIT_SUCCESS)
            }
            end(daemon, daemon == nil ? fullMessage(for: error) : "\(error)", code: code == .validationFailure ? 2 : EXIT_FAILURE)
        }
    }

    private static func end(_ daemon: (any DaemonCommand)?, _ message: String, code: Int32) -> Never {
        let isJournal = LogOutput.isJournal(environment: ProcessInfo.processInfo.environment)
        if let daemon {
            daemon.lastWords(message, isJournal: isJournal)
        } else {
            LogOutput.standardError.write(LogStyle.lastWords(message, isJournal: isJournal))
        }
        Glibc.exit(code)
    }
}
