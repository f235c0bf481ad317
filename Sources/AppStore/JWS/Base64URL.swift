/// Strict base64url without padding (RFC 7515 §2): each byte sequence has exactly one accepted text.
package enum Base64URL {
    private static let codec = Base64Codec("-_")

    /// The bytes of the text; `nil` for padding, other characters, white space, or non-zero trailing bits.
    package static func decode(_ text: ArraySlice<UInt8>) -> [UInt8]? {
        text.withUnsafeBufferPointer { codec.decode($0) }
    }

    /// The bytes of the text; `nil` when it is not canonical.
    package static func decode(_ text: [UInt8]) -> [UInt8]? {
        text.withUnsafeBufferPointer { codec.decode($0) }
    }

    /// The text of the bytes.
    package static func encode(_ bytes: [UInt8]) -> [UInt8] {
        bytes.withUnsafeBufferPointer { codec.encode($0) }
    }
}
