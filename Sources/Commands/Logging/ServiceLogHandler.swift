import Logging

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
