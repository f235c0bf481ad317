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

extension Base64 {
    /// Decodes Base64 as leniently as verifyReceipt does: ignores white space and trailing bits, requires padding. Nil for other text.
    package static func decodeLoosely(_ text: ArraySlice<UInt8>) -> [UInt8]? {
        var characterCount = 0
        var paddingCount = 0
        var isValid = true
        let bytes = [UInt8](unsafeUninitializedCapacity: text.count / 4 * 3 + 3) { output, count in
            var bits: UInt32 = 0
            for character in text {
                let value = values[Int(character)]
                if value < 64, paddingCount == 0 {
                    bits = bits << 6 | UInt32(value)
                    characterCount += 1
                    let pending = characterCount * 6 % 8
                    if pending < 6 {
                        output[count] = UInt8(truncatingIfNeeded: bits >> UInt32(pending))
                        count += 1
                    }
                } else if character == UInt8(ascii: "=") {
                    paddingCount += 1
                } else if value != whiteSpace {
                    isValid = false
                    return
                }
            }
        }
        let isPadded = paddingCount == (4 - characterCount % 4) % 4 && paddingCount < 3
        return isValid && isPadded ? bytes : nil
    }

    private static let whiteSpace: UInt8 = 64

    /// The value of each byte: below 64, `whiteSpace`, or 255 for other bytes.
    private static let values: [UInt8] = {
        let alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
        var values = [UInt8](repeating: 255, count: 256)
        for (value, character) in alphabet.utf8.enumerated() { values[Int(character)] = UInt8(value) }
        for space in [0x20, 0x09, 0x0a, 0x0b, 0x0c, 0x0d] { values[space] = whiteSpace }
        return values
    }()
}

/// Strict Base64 in one of its two alphabets (RFC 4648 §4 and §5).
///
/// Decoding accepts exactly one text per byte sequence: no other characters, no white space, no non-zero trailing bits.
private struct Base64Codec: Sendable {
    /// Marks a character outside the alphabet, in a bit that valid entries leave clear.
    private static let invalid: UInt32 = 0x8000_0000

    private let characters: [UInt8]
    /// Four tables of 256, one per position in a group: the bits that a character adds to the little-endian word of three bytes.
    private let contributions: [UInt32]

    init(_ lastTwo: StaticString) {
        let ranges = [UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9")]
        let characters = ranges.flatMap { Array($0) } + [lastTwo.utf8Start[0], lastTwo.utf8Start[1]]
        var contributions = [UInt32](repeating: Self.invalid, count: 4 * 256)
        for (value, character) in characters.enumerated() {
            for place in 0..<4 {
                let bigEndian = UInt32(value) << UInt32(32 - 6 * (place + 1))
                contributions[place * 256 + Int(character)] = bigEndian.byteSwapped
            }
        }
        self.characters = characters
        self.contributions = contributions
    }

    /// The bytes of an unpadded text; `nil` when it is not canonical.
    func decode(_ text: UnsafeBufferPointer<UInt8>) -> [UInt8]? {
        let tail = text.count % 4
        guard tail != 1 else { return nil }
        let groups = text.count / 4
        let count = groups * 3 + max(tail - 1, 0)
        var isValid = true
        let decoded = [UInt8](unsafeUninitializedCapacity: count + 1) { output, initialized in
            isValid = contributions.withUnsafeBufferPointer { tables in
                decodeGroups(text, groups: groups, tables, into: output) && decodeTail(text, groups: groups, tables, into: output)
            }
            initialized = isValid ? count : 0
        }
        return isValid ? decoded : nil
    }

    /// Writes four bytes per group; the next group overwrites the fourth. `output` has one spare byte.
    private func decodeGroups(
        _ text: UnsafeBufferPointer<UInt8>,
        groups: Int,
        _ tables: UnsafeBufferPointer<UInt32>,
        into output: UnsafeMutableBufferPointer<UInt8>
    ) -> Bool {
        let bytes = UnsafeMutableRawBufferPointer(output)
        var seen: UInt32 = 0
        for group in 0..<groups {
            let word =
                tables[Int(text[group * 4])] | tables[256 + Int(text[group * 4 + 1])]
                | tables[512 + Int(text[group * 4 + 2])] | tables[768 + Int(text[group * 4 + 3])]
            seen |= word
            bytes.storeBytes(of: word.littleEndian, toByteOffset: group * 3, as: UInt32.self)
        }
        return seen & Self.invalid == 0
    }

    private func decodeTail(
        _ text: UnsafeBufferPointer<UInt8>,
        groups: Int,
        _ tables: UnsafeBufferPointer<UInt32>,
        into output: UnsafeMutableBufferPointer<UInt8>
    ) -> Bool {
        let tail = text.count % 4
        guard tail > 0 else { return true }
        var word: UInt32 = 0
        for place in 0..<tail { word |= tables[place * 256 + Int(text[groups * 4 + place])] }
        guard word & Self.invalid == 0, word >> UInt32(8 * (tail - 1)) == 0 else { return false }
        for place in 0..<tail - 1 { output[groups * 3 + place] = UInt8(truncatingIfNeeded: word >> UInt32(8 * place)) }
        return true
    }

    /// The unpadded text of the bytes.
    func encode(_ bytes: UnsafeBufferPointer<UInt8>) -> [UInt8] {
        var text: [UInt8] = []
        text.reserveCapacity((bytes.count + 2) / 3 * 4)
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let length = min(3, bytes.count - start)
            var word: UInt32 = 0
            for place in 0..<length { word |= UInt32(bytes[start + place]) << UInt32(16 - 8 * place) }
            for place in 0...length { text.append(characters[Int(word >> UInt32(18 - 6 * place)) & 63]) }
        }
        return text
    }
}
