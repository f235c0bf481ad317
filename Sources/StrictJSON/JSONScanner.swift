/// A cursor over JSON text that recognises single tokens and never reads outside the buffer.
///
/// The scanner borrows the buffer; it must not outlive the closure that lent it.
package struct JSONScanner {
    package let bytes: UnsafeBufferPointer<UInt8>
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
    package func unexpected() -> JSONSyntaxError {
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
}
