/// Strict Base64 with padding (RFC 4648 §4): each byte sequence has exactly one accepted text.
package enum Base64 {
    private static let codec = Base64Codec("+/")
    private static let padding = UInt8(ascii: "=")

    /// The bytes of the text; `nil` for missing padding, other characters, white space, or non-zero trailing bits.
    package static func decode(_ text: UnsafeBufferPointer<UInt8>) -> [UInt8]? {
        guard text.count % 4 == 0 else { return nil }
        let padded = text.suffix(2).reversed().prefix { $0 == padding }.count
        return codec.decode(UnsafeBufferPointer(rebasing: text.dropLast(padded)))
    }

    /// The bytes of the text; `nil` when it is not canonical.
    package static func decode(_ text: String) -> [UInt8]? {
        var text = text
        return text.withUTF8 { decode($0) }
    }

    /// The text of the bytes, padded.
    package static func encode(_ bytes: [UInt8]) -> String {
        let text = bytes.withUnsafeBufferPointer { codec.encode($0) }
        return String(decoding: text, as: UTF8.self) + String(repeating: "=", count: (4 - text.count % 4) % 4)
    }
}
