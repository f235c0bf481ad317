import NIOCore

extension ByteBuffer {
    /// Writes text so that a browser reads it as text, in content and in quoted attributes.
    ///
    /// Control characters that HTML forbids, and characters that turn the direction of reading, become U+FFFD: who wrote a text must not
    /// decide how the text beside it looks.
    mutating func writeEscaped(_ text: String) {
        var plain = text.unicodeScalars[...]
        while let index = plain.firstIndex(where: { Self.replacement(of: $0) != nil }) {
            writeSubstring(Substring(plain[..<index]))
            if let replacement = Self.replacement(of: plain[index]) { writeStaticString(replacement) }
            plain = plain[plain.index(after: index)...]
        }
        writeSubstring(Substring(plain))
    }

    private static func replacement(of scalar: Unicode.Scalar) -> StaticString? {
        switch scalar {
        case "&": "&amp;"
        case "<": "&lt;"
        case ">": "&gt;"
        case "\"": "&quot;"
        case "'": "&#39;"
        case "\t", "\n": nil
        case "\0"..."\u{1F}", "\u{7F}"..."\u{9F}", "\u{61C}", "\u{200E}", "\u{200F}", "\u{2028}"..."\u{202E}", "\u{2066}"..."\u{2069}":
            "\u{FFFD}"
        default: nil
        }
    }
}
