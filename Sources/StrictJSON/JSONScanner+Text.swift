extension JSONScanner {
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
}
