import FoundationEssentials
import Logging

extension Logger {
    /// The logger of one command, with the level and the format of the settings.
    ///
    /// - Parameter level: replaces the level of the settings.
    static func service(_ command: String, _ reader: SettingsReader, level: Reloadable<Logger.Level>? = nil) throws(SettingsError) -> Logger
    {
        let settings = try LogSettings(reader)
        let level = level ?? Reloadable(settings.level)
        let style = LogStyle(
            format: settings.format,
            isJournal: LogOutput.isJournal(environment: ProcessInfo.processInfo.environment)
        )
        let label = "appstore-inbox.\(command)"
        let logger = Logger(label: label) { ServiceLogHandler(label: $0, level: level, style: style) }
        for mistake in reader.misspeltVariables { logger.warning("\(mistake)") }
        return logger
    }
}
