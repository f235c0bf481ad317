/// Writes JSON text without white space, with members in order and numbers as in the source.
package enum JSONSerializer {
    /// The text of a value, as UTF-8.
    package static func serialize(_ value: JSONValue) -> [UInt8] {
        var output: [UInt8] = []
        append(value, to: &output)
        return output
    }

    /// The text of an object, as UTF-8.
    package static func serialize(_ object: JSONObject) -> [UInt8] {
        serialize(.object(object))
    }

    /// The text of a value.
    package static func text(_ value: JSONValue) -> String { String(decoding: serialize(value), as: UTF8.self) }

    /// The text of an object.
    package static func text(_ object: JSONObject) -> String { text(.object(object)) }

    private static func append(_ value: JSONValue, to output: inout [UInt8]) {
        switch value {
        case .null: output.append(contentsOf: "null".utf8)
        case .bool(let flag): output.append(contentsOf: (flag ? "true" : "false").utf8)
        case .number(let number): output.append(contentsOf: number.text.utf8)
        case .string(let text): appendString(text, to: &output)
        case .array(let elements):
            output.append(UInt8(ascii: "["))
            for (index, element) in elements.enumerated() {
                if index > 0 { output.append(UInt8(ascii: ",")) }
                append(element, to: &output)
            }
            output.append(UInt8(ascii: "]"))
        case .object(let object):
            output.append(UInt8(ascii: "{"))
            for (index, member) in object.members.enumerated() {
                if index > 0 { output.append(UInt8(ascii: ",")) }
                appendString(member.name, to: &output)
                output.append(UInt8(ascii: ":"))
                append(member.value, to: &output)
            }
            output.append(UInt8(ascii: "}"))
        }
    }

    private static func appendString(_ text: String, to output: inout [UInt8]) {
        var text = text
        output.append(UInt8(ascii: "\""))
        text.withUTF8 { bytes in
            var index = 0
            while index < bytes.count {
                let end = ByteScan.endOfPlainString(in: bytes, from: index)
                output.append(contentsOf: bytes[index..<end])
                guard end < bytes.count else { break }
                appendEscape(of: bytes[end], to: &output)
                index = end + 1
            }
        }
        output.append(UInt8(ascii: "\""))
    }

    private static func appendEscape(of byte: UInt8, to output: inout [UInt8]) {
        output.append(UInt8(ascii: "\\"))
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"): output.append(byte)
        case 0x08: output.append(UInt8(ascii: "b"))
        case 0x0C: output.append(UInt8(ascii: "f"))
        case 0x0A: output.append(UInt8(ascii: "n"))
        case 0x0D: output.append(UInt8(ascii: "r"))
        case 0x09: output.append(UInt8(ascii: "t"))
        default:
            let digits = String(byte, radix: 16)
            output.append(contentsOf: "u00\(digits.count == 1 ? "0" : "")\(digits)".utf8)
        }
    }
}
