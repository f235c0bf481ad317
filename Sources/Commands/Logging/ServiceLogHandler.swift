import AppStore
import FoundationEssentials
import Glibc
import Logging
import Postgres
import StrictJSON
import Synchronization

/// Writes each log event as one line to standard error, in JSON or as text.
struct ServiceLogHandler: LogHandler {
    /// The level of this copy of the logger, or the one that all share.
    var logLevel: Logger.Level {
        get { ownLevel ?? level.current }
        set { ownLevel = newValue }
    }
    var metadata: Logger.Metadata = [:]
    var metadataProvider: Logger.MetadataProvider?

    private let level: Reloadable<Logger.Level>
    private var ownLevel: Logger.Level?
    private let label: String
    private let style: LogStyle
    private let output: LogOutput

    /// - Parameters:
    ///   - label: names the logger in JSON.
    ///   - level: the least severe level that is written, unless a copy of the logger has its own.
    init(label: String, level: Reloadable<Logger.Level>, style: LogStyle, output: LogOutput = .standardError) {
        self.label = label
        self.level = level
        self.style = style
        self.output = output
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        var all = metadata
        if let provided = metadataProvider?.get() { all.merge(provided) { $1 } }
        if let own = event.metadata { all.merge(own) { $1 } }
        if let error = event.error { all["error"] = "\(error)" }
        output.write(style.line(level: event.level, label: label, message: event.message.description, metadata: all, at: output.now()))
    }
}

/// The shape of a log line.
struct LogStyle: Sendable, Equatable {
    /// One JSON object instead of text.
    private let isJSON: Bool
    /// Whether a line begins with `<N>`, from which only the journal reads the priority.
    private let hasPriority: Bool

    /// The style for the setting `log-format`, where `auto` depends on whether standard error is the journal.
    init(format: LogSettings.Format, isJournal: Bool) {
        isJSON = format == .json || (format == .auto && isJournal)
        hasPriority = isJournal
    }

    /// The lines with which a command reports why it fails; in the journal each is an error.
    static func failureLines(_ message: String, isJournal: Bool) -> String {
        let priority = isJournal ? "<\(Logger.Level.error.journalPriority)>" : ""
        return message.split(separator: "\n").map { "\(priority)\($0)\n" }.joined()
    }

    /// The log lines with which a daemon reports why it fails: one error for each line of the message.
    func failureLines(_ message: String, label: String, at time: Timestamp) -> String {
        message.split(separator: "\n").map { line(level: .error, label: label, message: String($0), metadata: [:], at: time) }.joined()
    }

    func line(level: Logger.Level, label: String, message: String, metadata: Logger.Metadata, at time: Timestamp) -> String {
        var line = hasPriority ? "<\(level.journalPriority)>" : ""
        if isJSON {
            var object: JSONObject = hasPriority ? [:] : ["time": .string("\(time)")]
            object["level"] = .string(level.rawValue)
            object["logger"] = .string(label)
            object["message"] = .string(message)
            if !metadata.isEmpty { object["metadata"] = JSONValue(.dictionary(metadata)) }
            line += JSONSerializer.text(object).shownSafely
        } else {
            if !hasPriority { line += "\(time) " }
            line += "\(level.rawValue.uppercased()): \(message.onOneLine.shownSafely)"
            for (key, value) in metadata.sorted(by: { $0.key < $1.key }) { line += " \(key)=\("\(value)".onOneLine.shownSafely)" }
        }
        line.append("\n")
        return line
    }
}

extension Logger.Level {
    /// The severity of syslog(3) and sd-daemon(3).
    fileprivate var journalPriority: Int {
        switch self {
        case .trace, .debug: 7
        case .info: 6
        case .notice: 5
        case .warning: 4
        case .error: 3
        case .critical: 2
        }
    }
}

extension String {
    /// Control characters become spaces: a line feed in a message would begin a forged log line.
    fileprivate var onOneLine: String {
        String(String.UnicodeScalarView(unicodeScalars.map { $0.value < 0x20 || $0.value == 0x7F ? " " : $0 }))
    }
}

extension JSONValue {
    /// Metadata, with the members of an object sorted by name.
    fileprivate init(_ value: Logger.MetadataValue) {
        switch value {
        case .dictionary(let members):
            self = .object(JSONObject(members.sorted { $0.key < $1.key }.map { ($0.key, JSONValue($0.value)) }))
        case .array(let values): self = .array(values.map { JSONValue($0) })
        default: self = .string(value.description)
        }
    }
}

/// Where log lines go.
package struct LogOutput: Sendable {
    let now: @Sendable () -> Timestamp
    package let write: @Sendable (String) -> Void

    /// Standard error, one write for each line, so that lines of several processes do not mix.
    package static let standardError = LogOutput(now: currentTime) { line in
        writing.withLock { _ in line.writeAll(to: STDERR_FILENO) }
    }

    @Sendable private static func currentTime() -> Timestamp {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Timestamp(millisecondsSince1970: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000)
    }

    private static let writing = Mutex(())

    /// Whether standard error is a stream of the systemd journal. A child inherits `JOURNAL_STREAM`, so device and inode are compared.
    static func isJournal(environment: [String: String]) -> Bool {
        var status = stat()
        guard let stream = environment["JOURNAL_STREAM"], fstat(STDERR_FILENO, &status) == 0 else { return false }
        return stream == "\(status.st_dev):\(status.st_ino)"
    }
}

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

    /// Writes the first line of a daemon's log: what runs, with which settings. It holds no secret.
    func starting(_ daemon: String, _ options: ConnectionOptions, _ settings: Logger.Metadata) {
        var all: Logger.Metadata = [
            "program.version": "\(Build.version)", "program.commit": "\(Build.commit)", "program.schema": "\(Build.schema)",
        ]
        all["database.host"] = options.host.map { "\($0)" }
        all["database.name"] = options.database.map { "\($0)" }
        all["database.role"] = options.user.map { "\($0)" }
        notice("\(daemon) is starting", metadata: all.merging(settings) { $1 })
    }

    /// The same logger with a name for the pool whose database the lines are about.
    func naming(pool: String) -> Logger {
        var logger = self
        logger[metadataKey: "database.pool"] = "\(pool)"
        return logger
    }
}
