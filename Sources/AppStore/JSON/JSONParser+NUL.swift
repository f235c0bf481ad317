extension JSONParser {
    /// Whether a string or a name in the text means U+0000, which JSON may hold and PostgreSQL's `text` may not.
    ///
    /// The text must be one that a parser has accepted: then U+0000 can only be there as the escape `\u0000`.
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
