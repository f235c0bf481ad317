import AppStore
import Logging
import StrictJSON

/// The shape of a log line.
struct LogStyle: Sendable, Equatable {
    /// One JSON object instead of text.
    let isJSON: Bool
    /// Whether a line begins with `<N>`, from which only the journal reads the priority.
    let hasPriority: Bool

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
    var journalPriority: Int {
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
