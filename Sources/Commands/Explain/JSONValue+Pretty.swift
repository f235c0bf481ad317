import AppStore
import StrictJSON

extension JSONValue {
    /// The value over several lines, members and elements indented by two more blanks each level; `indent` does not lead the first line.
    /// Apple's dates, milliseconds in members named `…Date`, are told in words behind them.
    func pretty(indent: String = "") -> String {
        let inner = indent + "  "
        switch self {
        case .object(let object) where !object.members.isEmpty:
            let lines = object.members.enumerated().map { index, member in
                let comma = index + 1 < object.members.count ? "," : ""
                let line = "\(inner)\(JSONValue.string(member.name).compact): \(member.value.pretty(indent: inner))\(comma)"
                return line + (member.date.map { "  // \($0)" } ?? "")
            }
            return "{\n\(lines.joined(separator: "\n"))\n\(indent)}"
        case .array(let elements) where !elements.isEmpty:
            return "[\n\(elements.map { inner + $0.pretty(indent: inner) }.joined(separator: ",\n"))\n\(indent)]"
        default:
            return compact
        }
    }

    private var compact: String { String(decoding: JSONSerializer.serialize(self), as: UTF8.self) }
}

extension JSONObject.Member {
    fileprivate var date: Timestamp? {
        guard name.hasSuffix("Date"), case .number(let number) = value else { return nil }
        return Timestamp(number)
    }
}
