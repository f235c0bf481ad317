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
