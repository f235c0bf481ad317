/// A cursor over JSON text that recognises single tokens and never reads outside the buffer.
///
/// The scanner borrows the buffer; it must not outlive the closure that lent it.
package struct JSONScanner {
    private let bytes: UnsafeBufferPointer<UInt8>
    package private(set) var position = 0

    package init(_ bytes: UnsafeBufferPointer<UInt8>) {
        self.bytes = bytes
    }

    /// The byte at the cursor, `nil` at the end.
    @inline(__always)
    package var next: UInt8? {
        position < bytes.count ? bytes[position] : nil
    }

    /// Makes an error at `offset`, by default the cursor.
    package func error(_ code: JSONSyntaxError.Code, at offset: Int? = nil) -> JSONSyntaxError {
        JSONSyntaxError(code: code, offset: offset ?? position)
    }

    /// The error for a byte at the cursor that the grammar does not allow there.
    private func unexpected() -> JSONSyntaxError {
        error(next == nil ? .unexpectedEnd : .unexpectedByte)
    }

    /// Skips white space, then the byte if it comes next.
    @inline(__always)
    package mutating func accept(_ byte: UInt8) -> Bool {
        skipWhitespace()
        guard next == byte else { return false }
        position += 1
        return true
    }

    /// Skips white space, then the byte, which must come next.
    @inline(__always)
    package mutating func expect(_ byte: UInt8) throws(JSONSyntaxError) {
        guard accept(byte) else { throw unexpected() }
    }

    @inline(__always)
    package mutating func skipWhitespace() {
        while let byte = next, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { position += 1 }
    }

    /// Refuses anything but white space before the end.
    package mutating func expectEnd() throws(JSONSyntaxError) {
        skipWhitespace()
        if next != nil { throw error(.trailingBytes) }
    }

    package mutating func scanLiteral(_ literal: StaticString) throws(JSONSyntaxError) {
        for offset in 0..<literal.utf8CodeUnitCount {
            guard next == literal.utf8Start[offset] else { throw unexpected() }
            position += 1
        }
    }

    /// Reads a number (RFC 8259 §6) and returns its bytes.
    package mutating func scanNumber() throws(JSONSyntaxError) -> UnsafeBufferPointer<UInt8> {
        let start = position
        guard let first = next, first == UInt8(ascii: "-") || Self.isDigit(first) else { throw unexpected() }
        if next == UInt8(ascii: "-") { position += 1 }
        if next == UInt8(ascii: "0") {
            position += 1
        } else {
            try scanDigits()
        }
        if next == UInt8(ascii: ".") {
            position += 1
            try scanDigits()
        }
        if next == UInt8(ascii: "e") || next == UInt8(ascii: "E") {
            position += 1
            if next == UInt8(ascii: "+") || next == UInt8(ascii: "-") { position += 1 }
            try scanDigits()
        }
        if let byte = next, Self.isDigit(byte) { throw error(.invalidNumber) }
        return UnsafeBufferPointer(rebasing: bytes[start..<position])
    }

    private mutating func scanDigits() throws(JSONSyntaxError) {
        guard let first = next else { throw error(.unexpectedEnd) }
        guard Self.isDigit(first) else { throw error(.invalidNumber) }
        while let byte = next, Self.isDigit(byte) { position += 1 }
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        byte &- UInt8(ascii: "0") < 10
    }

    /// Skips the rest of a string, after its opening quote, and returns the bytes between the quotes.
    ///
    /// Neither escapes nor UTF-8 are checked.
    package mutating func scanString() throws(JSONSyntaxError) -> (bytes: UnsafeBufferPointer<UInt8>, hasEscapes: Bool) {
        let start = position
        var hasEscapes = false
        while true {
            position = ByteScan.endOfPlainString(in: bytes, from: position)
            switch next {
            case UInt8(ascii: "\""):
                position += 1
                return (UnsafeBufferPointer(rebasing: bytes[start..<position - 1]), hasEscapes)
            case UInt8(ascii: "\\"):
                hasEscapes = true
                position += 1
                guard next != nil else { throw error(.unexpectedEnd) }
                position += 1
            case nil: throw error(.unexpectedEnd)
            default: throw error(.controlCharacter)
            }
        }
    }

    /// Reads the rest of a string, after its opening quote, and returns its text.
    ///
    /// Refuses invalid UTF-8 (also overlong forms and encoded surrogates), escapes outside RFC 8259, and lone surrogates (`\uD800`…`\uDFFF`).
    /// Replacing a lone surrogate would make different texts equal.
    package mutating func scanText() throws(JSONSyntaxError) -> String {
        let start = position
        let (content, hasEscapes) = try scanString()
        // The validating initializer is not specialized in the standard library, so plain ASCII, the usual case, avoids it.
        if !hasEscapes && ByteScan.isASCII(content) { return String(decoding: content, as: UTF8.self) }
        let text =
            if hasEscapes {
                String(validating: try unescape(content, offset: start), as: UTF8.self)
            } else {
                String(validating: content, as: UTF8.self)
            }
        guard let text else { throw error(.invalidUTF8, at: start) }
        return text
    }

    /// Resolves the escapes in a string's content; `offset` is the position of the content in the text, for errors.
    package func unescape(_ content: UnsafeBufferPointer<UInt8>, offset: Int) throws(JSONSyntaxError) -> [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(content.count)
        var index = 0
        while index < content.count {
            let end = ByteScan.firstIndex(of: UInt8(ascii: "\\"), in: content, from: index) ?? content.count
            result.append(contentsOf: content[index..<end])
            index = end
            if index < content.count { index = try unescapeOne(content, at: index, offset: offset, into: &result) }
        }
        return result
    }

    /// Appends the bytes of the escape at `index` and returns the index after it.
    private func unescapeOne(
        _ content: UnsafeBufferPointer<UInt8>,
        at index: Int,
        offset: Int,
        into result: inout [UInt8]
    ) throws(JSONSyntaxError) -> Int {
        guard index + 1 < content.count else { throw error(.invalidEscape, at: offset + index) }
        if content[index + 1] != UInt8(ascii: "u") {
            guard let byte = Self.shortEscape(content[index + 1]) else { throw error(.invalidEscape, at: offset + index) }
            result.append(byte)
            return index + 2
        }
        guard let unit = Self.hexUnit(content, at: index + 2) else { throw error(.invalidEscape, at: offset + index) }
        if let scalar = Unicode.Scalar(unit) {
            result.append(contentsOf: String(scalar).utf8)
            return index + 6
        }
        guard let scalar = Self.pair(high: unit, content, lowAt: index + 6) else { throw error(.loneSurrogate, at: offset + index) }
        result.append(contentsOf: String(scalar).utf8)
        return index + 12
    }

    private static func shortEscape(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): byte
        case UInt8(ascii: "b"): 0x08
        case UInt8(ascii: "f"): 0x0C
        case UInt8(ascii: "n"): 0x0A
        case UInt8(ascii: "r"): 0x0D
        case UInt8(ascii: "t"): 0x09
        default: nil
        }
    }

    /// The scalar of a surrogate pair whose second half is escaped at `index`.
    private static func pair(high: UInt16, _ content: UnsafeBufferPointer<UInt8>, lowAt index: Int) -> Unicode.Scalar? {
        guard index + 1 < content.count, content[index] == UInt8(ascii: "\\"), content[index + 1] == UInt8(ascii: "u"),
            let low = hexUnit(content, at: index + 2), (0xD800...0xDBFF).contains(high), (0xDC00...0xDFFF).contains(low)
        else { return nil }
        return Unicode.Scalar(0x10000 + (UInt32(high) - 0xD800) << 10 + (UInt32(low) - 0xDC00))
    }

    private static func hexUnit(_ content: UnsafeBufferPointer<UInt8>, at index: Int) -> UInt16? {
        guard index + 4 <= content.count else { return nil }
        var unit: UInt16 = 0
        for byte in content[index..<index + 4] {
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): unit = unit << 4 | UInt16(byte - UInt8(ascii: "0"))
            case UInt8(ascii: "a")...UInt8(ascii: "f"): unit = unit << 4 | UInt16(byte - UInt8(ascii: "a") + 10)
            case UInt8(ascii: "A")...UInt8(ascii: "F"): unit = unit << 4 | UInt16(byte - UInt8(ascii: "A") + 10)
            default: return nil
            }
        }
        return unit
    }

    /// Checks the grammar of a value and skips it; does not detect duplicate names inside it.
    package mutating func skipValue(remainingDepth: Int) throws(JSONSyntaxError) {
        skipWhitespace()
        switch next {
        case UInt8(ascii: "\""):
            _ = accept(UInt8(ascii: "\""))
            _ = try scanText()
        case UInt8(ascii: "{"), UInt8(ascii: "["):
            guard remainingDepth > 0 else { throw error(.tooDeep) }
            try skipContainer(remainingDepth: remainingDepth - 1)
        case UInt8(ascii: "t"): try scanLiteral("true")
        case UInt8(ascii: "f"): try scanLiteral("false")
        case UInt8(ascii: "n"): try scanLiteral("null")
        default: _ = try scanNumber()
        }
    }

    private mutating func skipContainer(remainingDepth: Int) throws(JSONSyntaxError) {
        let isObject = accept(UInt8(ascii: "{"))
        if !isObject { try expect(UInt8(ascii: "[")) }
        let end = isObject ? UInt8(ascii: "}") : UInt8(ascii: "]")
        if accept(end) { return }
        repeat {
            if isObject {
                try expect(UInt8(ascii: "\""))
                _ = try scanText()
                try expect(UInt8(ascii: ":"))
            }
            try skipValue(remainingDepth: remainingDepth)
        } while accept(UInt8(ascii: ","))
        try expect(end)
    }
}
