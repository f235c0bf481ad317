package import Randomness
package import StrictJSON

extension SeededGenerator {
    /// A random JSON value of at most that depth, with unique names.
    package mutating func value(depth: Int) -> JSONValue {
        switch Int.random(in: 0..<(depth > 0 ? 8 : 5), using: &self) {
        case 0: return .null
        case 1: return .bool(Bool.random(using: &self))
        case 2: return .integer(Int64.random(in: -(1 << 53)...(1 << 53), using: &self) >> Int64.random(in: 0...50, using: &self))
        case 3, 4: return .string(text())
        case 5, 6: return .object(JSONObject((0..<Int.random(in: 0...6, using: &self)).map { ("\($0)" + text(), value(depth: depth - 1)) }))
        default: return .array((0..<Int.random(in: 0...6, using: &self)).map { _ in value(depth: depth - 1) })
        }
    }

    /// Random text with characters that need escapes, more than one byte, or a surrogate pair.
    package mutating func text() -> String {
        let alphabet: [Character] = [
            "a", "Z", "0", " ", "\"", "\\", "/", "\n", "\u{1}", "\u{1f}", "\u{7f}", "é", "€", "😀", "\u{2028}", "\u{FFFD}",
        ]
        return String((0..<Int.random(in: 0...20, using: &self)).compactMap { _ in alphabet.randomElement(using: &self) })
    }

    /// The value as JSON text with random white space and random `\u` escapes.
    package mutating func looseText(of value: JSONValue) -> String {
        switch value {
        case .null, .bool, .number:
            return space() + String(decoding: JSONSerializer.serialize(value), as: UTF8.self) + space()
        case .string(let text): return space() + looseString(text) + space()
        case .array(let elements):
            return space() + "[\(elements.map { looseText(of: $0) }.joined(separator: ","))" + space() + "]" + space()
        case .object(let object):
            let members = object.members.map { "\(space())\(looseString($0.name))\(space()):\(looseText(of: $0.value))" }
            return space() + "{\(members.joined(separator: ","))" + space() + "}" + space()
        }
    }

    private mutating func space() -> String {
        ["", "", " ", "\n", "\t\r", "   "].randomElement(using: &self) ?? ""
    }

    private mutating func looseString(_ text: String) -> String {
        let units = text.unicodeScalars.map { scalar in
            if scalar.value >= 0x20 && scalar != "\"" && scalar != "\\" && Bool.random(using: &self) { return String(scalar) }
            return String(scalar).utf16.map {
                "\\u" + String(0x10000 + Int($0), radix: 16, uppercase: Bool.random(using: &self)).dropFirst()
            }.joined()
        }
        return "\"\(units.joined())\""
    }
}
