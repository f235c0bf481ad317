import AppStore
import StrictJSON

extension JSONObject {
    /// The object for people: a member on each line, nested ones indented. What says nothing is left out, long lists are cut, and a JWS is
    /// replaced by its path in the payload, under which a ``SignedPart`` stands elsewhere in the text.
    ///
    /// A terminal can print it: nothing in it moves the cursor or pretends to be another line.
    var text: String { lines(at: "").joined(separator: "\n").shownSafely }

    /// - Parameter path: of the object, with a dot at its end.
    private func lines(at path: String) -> [String] { members.flatMap { $0.lines(at: path) } }

    fileprivate func indented(at path: String) -> [String] { lines(at: path).map { "  " + $0 } }
}

extension JSONObject.Member {
    /// Elements of a list that are shown.
    private static let limit = 20

    fileprivate func lines(at path: String) -> [String] {
        let path = path + name
        switch value {
        case .null: return []
        case .object(let object):
            // Paths begin in the payload.
            let inner = object.indented(at: name == "payload" ? "" : path + ".")
            return inner.isEmpty ? [] : ["\(name.line):"] + inner
        case .array(let elements):
            let shown = elements.prefix(Self.limit)
            let rest = elements.count > shown.count ? ["  … and \(elements.count - shown.count) more, which --json shows"] : []
            let scalars = shown.enumerated().compactMap { $1.scalar(at: "\(path)[\($0)]") }
            if scalars.count == shown.count { return scalars.isEmpty ? [] : ["\(name.line): \(scalars.joined(separator: ", "))"] + rest }
            return ["\(name.line):"] + shown.enumerated().flatMap { $1.listed(at: "\(path)[\($0)]") } + rest
        case .bool, .number, .string:
            return ["\(name.line): \(value.scalar(at: path) ?? "")\(date.map { "  (\($0))" } ?? "")"]
        }
    }

    /// The instant of Apple's dates, which are milliseconds in members named `…Date`.
    private var date: Timestamp? {
        guard name.hasSuffix("Date"), case .number(let number) = value else { return nil }
        return Timestamp(number)
    }
}

extension JSONValue {
    /// Nil for objects and arrays.
    fileprivate func scalar(at path: String) -> String? {
        switch self {
        case .string(let text): text.isJWS ? "(see \(path))" : text.line
        case .number(let number): number.text
        case .bool(let flag): flag ? "true" : "false"
        case .null: "null"
        case .array, .object: nil
        }
    }

    /// An element of a list, with a dash before its first line.
    fileprivate func listed(at path: String) -> [String] {
        let lines = if case .object(let object) = self { object.indented(at: path + ".") } else { ["  " + (scalar(at: path) ?? compact)] }
        return lines.enumerated().map { $0 == 0 ? "  - " + $1.dropFirst(2) : "  " + $1 }
    }

    private var compact: String { JSONSerializer.text(self) }
}

extension String {
    /// The text on one line: as it is, or escaped as in JSON when it has more lines or no visible end.
    fileprivate var line: String {
        guard isEmpty || contains(where: \.isNewline) || first == " " || last == " " else { return self }
        return JSONSerializer.text(.string(self))
    }
}
