import StrictJSON

extension ByteScan {
    /// Whether the bytes are three non-empty parts of base64url characters, separated by dots.
    ///
    /// Checks the alphabet only; the verifier decodes the parts.
    static func isCompactJWS(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        let dot = UInt8(ascii: ".")
        guard let first = firstIndex(of: dot, in: bytes, from: 0), let second = firstIndex(of: dot, in: bytes, from: first + 1),
            first > 0, second > first + 1, second + 1 < bytes.count
        else { return false }
        return isBase64URL(bytes[..<first]) && isBase64URL(bytes[(first + 1)..<second]) && isBase64URL(bytes[(second + 1)...])
    }

    /// No branches and no early exit, so that the compiler vectorizes the loop.
    private static func isBase64URL(_ slice: Slice<UnsafeBufferPointer<UInt8>>) -> Bool {
        let bytes = UnsafeBufferPointer(rebasing: slice)
        var isValid: UInt8 = 1
        for index in 0..<bytes.count {
            let byte = bytes[index]
            let isLetter = one(if: (byte | 0x20) &- UInt8(ascii: "a") < 26)
            let isDigit = one(if: byte &- UInt8(ascii: "0") < 10)
            isValid &= isLetter | isDigit | one(if: byte == UInt8(ascii: "-")) | one(if: byte == UInt8(ascii: "_"))
        }
        return isValid == 1
    }

    @inline(__always)
    private static func one(if condition: Bool) -> UInt8 {
        condition ? 1 : 0
    }
}
