/// Strict Base64 in one of its two alphabets (RFC 4648 §4 and §5).
///
/// Decoding accepts exactly one text per byte sequence: no other characters, no white space, no non-zero trailing bits.
struct Base64Codec: Sendable {
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
