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
