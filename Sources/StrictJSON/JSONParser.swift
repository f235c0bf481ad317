/// A strict JSON parser (RFC 8259): one value, valid UTF-8, unique member names, bounded depth, no trailing bytes.
///
/// Numbers keep their text. `\u0000` is kept. A byte order mark and lone surrogates are refused (see `JSONScanner.scanText`).
package struct JSONParser: Sendable {
    /// How deep arrays and objects may nest.
    package var maximumDepth: Int

    package init(maximumDepth: Int = 32) {
        self.maximumDepth = maximumDepth
    }

    /// Parses a text that is one value.
    package func parse(_ text: [UInt8]) throws(JSONSyntaxError) -> JSONValue {
        try text.withUnsafeBufferPointer { bytes throws(JSONSyntaxError) in try parse(bytes) }
    }

    /// Parses a text that is one object; refuses any other value.
    package func parseObject(_ text: [UInt8]) throws(JSONSyntaxError) -> JSONObject {
        guard case .object(let object) = try parse(text) else { throw JSONSyntaxError(code: .notAnObject, offset: 0) }
        return object
    }

    /// Parses a text that is one value.
    package func parse(_ text: UnsafeBufferPointer<UInt8>) throws(JSONSyntaxError) -> JSONValue {
        var scanner = JSONScanner(text)
        let value = try parseValue(&scanner, depth: 0)
        try scanner.expectEnd()
        return value
    }

    private func parseValue(_ scanner: inout JSONScanner, depth: Int) throws(JSONSyntaxError) -> JSONValue {
        scanner.skipWhitespace()
        switch scanner.next {
        case UInt8(ascii: "\""):
            _ = scanner.accept(UInt8(ascii: "\""))
            return .string(try scanner.scanText())
        case UInt8(ascii: "{"): return .object(try parseObject(&scanner, depth: depth + 1))
        case UInt8(ascii: "["): return .array(try parseArray(&scanner, depth: depth + 1))
        case UInt8(ascii: "t"):
            try scanner.scanLiteral("true")
            return .bool(true)
        case UInt8(ascii: "f"):
            try scanner.scanLiteral("false")
            return .bool(false)
        case UInt8(ascii: "n"):
            try scanner.scanLiteral("null")
            return .null
        default: return .number(JSONNumber(validatedText: String(decoding: try scanner.scanNumber(), as: UTF8.self)))
        }
    }

    private func parseArray(_ scanner: inout JSONScanner, depth: Int) throws(JSONSyntaxError) -> [JSONValue] {
        guard depth <= maximumDepth else { throw scanner.error(.tooDeep) }
        try scanner.expect(UInt8(ascii: "["))
        var elements: [JSONValue] = []
        if scanner.accept(UInt8(ascii: "]")) { return elements }
        repeat {
            elements.append(try parseValue(&scanner, depth: depth))
        } while scanner.accept(UInt8(ascii: ","))
        try scanner.expect(UInt8(ascii: "]"))
        return elements
    }

    private func parseObject(_ scanner: inout JSONScanner, depth: Int) throws(JSONSyntaxError) -> JSONObject {
        guard depth <= maximumDepth else { throw scanner.error(.tooDeep) }
        try scanner.expect(UInt8(ascii: "{"))
        var names = JSONMemberNames()
        var members: [JSONObject.Member] = []
        if scanner.accept(UInt8(ascii: "}")) { return JSONObject() }
        repeat {
            try scanner.expect(UInt8(ascii: "\""))
            let offset = scanner.position - 1
            let name = try scanner.scanText()
            guard names.insert(name, after: members) else { throw scanner.error(.duplicateMember, at: offset) }
            try scanner.expect(UInt8(ascii: ":"))
            members.append(JSONObject.Member(name: name, value: try parseValue(&scanner, depth: depth)))
        } while scanner.accept(UInt8(ascii: ","))
        try scanner.expect(UInt8(ascii: "}"))
        return JSONObject(uniqueMembers: members)
    }
}

/// Detects repeated member names in an object: by comparison up to 64 members, by hash above.
///
/// Apple's objects have about thirty members, and comparison is faster for them. A hostile object may have a hundred thousand.
private struct JSONMemberNames {
    private static let comparedLimit = 64
    private var hashed: Set<[UInt8]> = []

    /// Records the name that follows these members; `false` when one of them has the same bytes.
    mutating func insert(_ name: String, after members: [JSONObject.Member]) -> Bool {
        if members.count < Self.comparedLimit {
            let length = name.utf8.count
            return !members.contains { $0.name.utf8.count == length && $0.name == name && $0.name.utf8.elementsEqual(name.utf8) }
        }
        if members.count == Self.comparedLimit {
            hashed = Set(members.map { Array($0.name.utf8) })
        }
        return hashed.insert(Array(name.utf8)).inserted
    }
}

extension JSONParser {
    /// Whether a string or a name in the text contains U+0000, which JSON allows and PostgreSQL's `text` does not.
    ///
    /// The text must have been accepted by a parser: then U+0000 can only occur as the escape `\u0000`.
    package static func containsNUL(in text: [UInt8]) -> Bool {
        text.withUnsafeBufferPointer { bytes in
            var index = 0
            while let escape = ByteScan.firstIndex(of: UInt8(ascii: "\\"), in: bytes, from: index) {
                if bytes[escape...].prefix(6).elementsEqual("\\u0000".utf8) { return true }
                index = escape + 2
            }
            return false
        }
    }
}

/// Why the parser refuses a text, and at which byte.
package struct JSONSyntaxError: Error, Hashable, Sendable {
    package enum Code: String, CaseIterable, Sendable {
        case unexpectedEnd = "unexpected_end"
        case unexpectedByte = "unexpected_byte"
        case trailingBytes = "trailing_bytes"
        case invalidNumber = "invalid_number"
        case invalidEscape = "invalid_escape"
        case loneSurrogate = "lone_surrogate"
        case controlCharacter = "control_character"
        case invalidUTF8 = "invalid_utf8"
        case duplicateMember = "duplicate_member"
        case tooDeep = "too_deep"
        case notAnObject = "not_an_object"
    }

    package let code: Code
    /// Offset in bytes from the beginning of the text.
    package let offset: Int

    package init(code: Code, offset: Int) {
        self.code = code
        self.offset = offset
    }
}

extension JSONSyntaxError: CustomStringConvertible {
    package var description: String {
        "JSON: \(code.rawValue) at byte \(offset)"
    }
}
