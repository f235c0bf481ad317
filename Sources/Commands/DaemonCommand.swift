import ArgumentParser

/// A command that runs until it is told to end, and whose standard error is a log.
protocol DaemonCommand: AsyncParsableCommand {
    var service: ServiceOptions { get }
}

extension DaemonCommand {
    /// Why it ends, as lines of its log; for a person where the settings were only to be checked.
    func lastWords(_ message: String, isJournal: Bool, output: LogOutput = .standardError) {
        guard !service.checkConfig else { return output.write(LogStyle.lastWords(message, isJournal: isJournal)) }
        let label = "appstore-inbox" + (Self.configuration.commandName.map { ".\($0)" } ?? "")
        output.write(logStyle(isJournal: isJournal).lastWords(message, label: label, at: output.now()))
    }

    /// The shape of its log lines, as far as that can be known: the last words may be about the settings.
    private func logStyle(isJournal: Bool) -> LogStyle {
        do {
            return LogStyle(format: try service.reader().required(Settings.logFormat), isJournal: isJournal)
        } catch {
            // It is what the last words are about.
            return LogStyle(format: .auto, isJournal: isJournal)
        }
    }
}
