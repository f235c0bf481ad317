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
