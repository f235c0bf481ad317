import Logging

extension String {
    /// Appends a JSON string, escaped as RFC 8259 §7 requires.
    mutating func appendJSON(_ text: String) {
        append("\"")
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": append("\\\"")
            case "\\": append("\\\\")
            case "\n": append("\\n")
            case "\r": append("\\r")
            case "\t": append("\\t")
            case _ where scalar.value < 0x20 || scalar.value == 0x7F:
                let digits = String(scalar.value, radix: 16)
                append("\\u" + String(repeating: "0", count: 4 - digits.count) + digits)
            default: unicodeScalars.append(scalar)
            }
        }
        append("\"")
    }

    /// Appends metadata as JSON, with the members of an object sorted by name.
    mutating func appendJSON(_ value: Logger.MetadataValue) {
        switch value {
        case .dictionary(let members):
            append("{")
            for (index, member) in members.sorted(by: { $0.key < $1.key }).enumerated() {
                if index > 0 { append(",") }
                appendJSON(member.key)
                append(":")
                appendJSON(member.value)
            }
            append("}")
        case .array(let values):
            append("[")
            for (index, value) in values.enumerated() {
                if index > 0 { append(",") }
                appendJSON(value)
            }
            append("]")
        case .string, .stringConvertible:
            appendJSON(value.description)
        @unknown default:
            appendJSON(value.description)
        }
    }
}
