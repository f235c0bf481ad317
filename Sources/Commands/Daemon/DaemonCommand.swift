import ArgumentParser

/// A command that runs until it receives SIGTERM or SIGINT, and whose standard error is a log.
protocol DaemonCommand: AsyncParsableCommand {
    var service: ServiceOptions { get }
    var daemon: DaemonOptions { get }
    /// The name of the daemon in its log.
    static var daemonName: String { get }
}

extension DaemonCommand {
    static var daemonName: String { configuration.commandName ?? "" }

    /// Writes why the daemon ends as lines of its log, or as plain text under `--check-config`.
    func reportFailure(_ message: String, isJournal: Bool, output: LogOutput = .standardError) {
        guard !daemon.checkConfig else { return output.write(LogStyle.failureLines(message, isJournal: isJournal)) }
        let label = "appstore-inbox.\(Self.daemonName)"
        output.write(logStyle(isJournal: isJournal).failureLines(message, label: label, at: output.now()))
    }

    /// The shape of the log lines. The error may be about the settings themselves; then the default shape is used.
    private func logStyle(isJournal: Bool) -> LogStyle {
        do {
            return LogStyle(format: try service.reader().required(Settings.logFormat), isJournal: isJournal)
        } catch {
            // The message to write reports this error already.
            return LogStyle(format: .auto, isJournal: isJournal)
        }
    }
}
