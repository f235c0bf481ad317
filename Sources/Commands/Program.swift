package import ArgumentParser
import FoundationEssentials
import Glibc

/// Runs a command of either program and ends the process.
package enum Program {
    /// Runs the command that the arguments name and ends the process: 0 for success, 1 for failure, 2 for wrong usage,
    /// ``SettingsError/exitCode`` for wrong settings. Errors go to standard error without the usage text; a daemon's are lines of its log.
    package static func run(_ root: (some AsyncParsableCommand).Type) async -> Never {
        FreedMemory.keepForLater()
        var daemon: (any DaemonCommand)?
        do {
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
            end(daemon, daemon == nil ? root.fullMessage(for: error) : "\(error)", code: code == .validationFailure ? 2 : EXIT_FAILURE)
        }
    }

    private static func end(_ daemon: (any DaemonCommand)?, _ message: String, code: Int32) -> Never {
        let isJournal = LogOutput.isJournal(environment: ProcessInfo.processInfo.environment)
        if let daemon {
            daemon.reportFailure(message, isJournal: isJournal)
        } else {
            LogOutput.standardError.write(LogStyle.failureLines(message, isJournal: isJournal))
        }
        Glibc.exit(code)
    }
}
