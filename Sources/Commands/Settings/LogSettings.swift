import Logging

/// The log level and the log format.
struct LogSettings: Sendable {
    /// The format of a log line.
    enum Format: String, Sendable, CaseIterable {
        /// JSON for the systemd journal, text elsewhere.
        case auto
        case text
        case json
    }

    let level: Logger.Level
    let format: Format

    /// - Throws: ``SettingsError`` with everything that is wrong.
    init(_ reader: SettingsReader) throws(SettingsError) {
        try reader.requireValid([Settings.logLevel.description, Settings.logFormat.description])
        level = try reader.required(Settings.logLevel)
        format = try reader.required(Settings.logFormat)
    }
}
