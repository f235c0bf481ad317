extension ByteScan {
    /// Whether the bytes are three parts of base64url characters, each with at least one, and two dots.
    ///
    /// Only the alphabet is looked at; whether the parts decode is the verifier's question.
    static func isCompactJWS(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        let dot = UInt8(ascii: ".")
        guard let first = firstIndex(of: dot, in: bytes, from: 0), let second = firstIndex(of: dot, in: bytes, from: first + 1),
            first > 0, second > first + 1, second + 1 < bytes.count
        else { return false }
        return isBase64URL(bytes[..<first]) && isBase64URL(bytes[(first + 1)..<second]) && isBase64URL(bytes[(second + 1)...])
    }

    /// Arithmetic without branches or early exit, of which the compiler makes vector instructions.
    private static func isBase64URL(_ slice: Slice<UnsafeBufferPointer<UInt8>>) -> Bool {
        let bytes = UnsafeBufferPointer(rebasing: slice)
        var belongs: UInt8 = 1
        for index in 0..<bytes.count {
            let byte = bytes[index]
            let isLetter = one(if: (byte | 0x20) &- UInt8(ascii: "a") < 26)
            let isDigit = one(if: byte &- UInt8(ascii: "0") < 10)
            belongs &= isLetter | isDigit | one(if: byte == UInt8(ascii: "-")) | one(if: byte == UInt8(ascii: "_"))
        }
        return belongs == 1
    }

    @inline(__always)
    private static func one(if condition: Bool) -> UInt8 {
        condition ? 1 : 0
    }
}
