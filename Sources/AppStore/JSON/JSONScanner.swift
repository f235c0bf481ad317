/// A cursor over JSON text that recognises single tokens and never reads outside the buffer.
///
/// The scanner borrows the buffer; it must not outlive the closure that lent it.
struct JSONScanner {
    let bytes: UnsafeBufferPointer<UInt8>
    private(set) var position = 0

    init(_ bytes: UnsafeBufferPointer<UInt8>) {
        self.bytes = bytes
    }

    /// The byte at the cursor, `nil` at the end.
    @inline(__always)
    var next: UInt8? {
        position < bytes.count ? bytes[position] : nil
    }

    /// An error at the cursor, or at another offset.
    func error(_ code: JSONSyntaxError.Code, at offset: Int? = nil) -> JSONSyntaxError {
        JSONSyntaxError(code: code, offset: offset ?? position)
    }

    /// What is wrong with the byte at the cursor when no rule of the grammar allows it.
    func unexpected() -> JSONSyntaxError {
        error(next == nil ? .unexpectedEnd : .unexpectedByte)
    }

    /// Moves over white space, then over the byte if it is there.
    @inline(__always)
    mutating func accept(_ byte: UInt8) -> Bool {
        skipWhitespace()
        guard next == byte else { return false }
        position += 1
        return true
    }

    /// Moves over white space, then over the byte, which must be there.
    @inline(__always)
    mutating func expect(_ byte: UInt8) throws(JSONSyntaxError) {
        guard accept(byte) else { throw unexpected() }
    }

    @inline(__always)
    mutating func skipWhitespace() {
        while let byte = next, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { position += 1 }
    }

    /// Refuses anything but white space up to the end.
    mutating func expectEnd() throws(JSONSyntaxError) {
        skipWhitespace()
        if next != nil { throw error(.trailingBytes) }
    }

    mutating func scanLiteral(_ literal: StaticString) throws(JSONSyntaxError) {
        for offset in 0..<literal.utf8CodeUnitCount {
            guard next == literal.utf8Start[offset] else { throw unexpected() }
            position += 1
        }
    }

    /// Moves over a number of RFC 8259 §6 and returns its bytes; a byte that begins none is unexpected.
    mutating func scanNumber() throws(JSONSyntaxError) -> UnsafeBufferPointer<UInt8> {
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

    /// Moves over the rest of a string whose opening quote was passed, and returns what stands between the quotes.
    ///
    /// Escapes are told to be there, not checked; neither is UTF-8.
    mutating func scanString() throws(JSONSyntaxError) -> (bytes: UnsafeBufferPointer<UInt8>, hasEscapes: Bool) {
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
