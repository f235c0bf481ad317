import ArgumentParser
import FoundationEssentials
import Glibc

extension AppStoreInbox {
    /// Runs the command that the arguments name and ends the process: 0 for success, 1 for failure, 2 for wrong usage,
    /// ``SettingsError/exitCode`` for wrong settings. Errors go to standard error, without usage noise.
    package static func run() async -> Never {
        FreedMemory.keepForLater()
        do {
            var command = try parseAsRoot()
            if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                try command.run()
            }
            Glibc.exit(EXIT_SUCCESS)
        } catch let error as SettingsError {
            end("\(error)", code: SettingsError.exitCode)
        } catch let error as ExitCode {
            Glibc.exit(error.rawValue)
        } catch {
            let code = exitCode(for: error)
            let text = fullMessage(for: error)
            if code.isSuccess {
                print(text)
                Glibc.exit(EXIT_SUCCESS)
            }
            end(text, code: code == .validationFailure ? 2 : EXIT_FAILURE)
        }
    }

    private static func end(_ message: String, code: Int32) -> Never {
        let isJournal = LogOutput.isJournal(environment: ProcessInfo.processInfo.environment)
        LogOutput.standardError.write(LogStyle.lastWords(message, isJournal: isJournal))
        Glibc.exit(code)
    }
}
