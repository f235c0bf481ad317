import Glibc

/// Searches that read several bytes at a time, and none outside of the buffer.
package enum ByteScan {
    private static let ones: UInt64 = 0x0101_0101_0101_0101
    private static let highBits: UInt64 = 0x8080_8080_8080_8080

    /// The first index at or after `start` that holds the byte; `start` is not negative.
    package static func firstIndex(of byte: UInt8, in bytes: UnsafeBufferPointer<UInt8>, from start: Int) -> Int? {
        guard start < bytes.count, let base = bytes.baseAddress,
            let found = memchr(base + start, Int32(byte), bytes.count - start)
        else { return nil }
        return UnsafeRawPointer(found) - UnsafeRawPointer(base)
    }

    /// The first index at or after `start` that ends a run of plain JSON string bytes: a quote, a backslash, or a byte below 0x20.
    package static func endOfPlainString(in bytes: UnsafeBufferPointer<UInt8>, from start: Int) -> Int {
        var index = start
        while let word = word(bytes, at: index) {
            let quotes = zeroBytes(word ^ (ones &* 0x22))
            let backslashes = zeroBytes(word ^ (ones &* 0x5C))
            let controls = (word &- (ones &* 0x20)) & ~word & highBits
            let hits = quotes | backslashes | controls
            if hits != 0 { return index + hits.trailingZeroBitCount / 8 }
            index += 8
        }
        while index < bytes.count {
            let byte = bytes[index]
            if byte == 0x22 || byte == 0x5C || byte < 0x20 { return index }
            index += 1
        }
        return index
    }

    /// Whether no byte has its high bit set.
    package static func isASCII(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        var seen: UInt8 = 0
        for index in 0..<bytes.count { seen |= bytes[index] }
        return seen < 0x80
    }

    /// Marks the high bit of each zero byte; the lowest mark is exact, higher ones may be false after it.
    @inline(__always)
    private static func zeroBytes(_ word: UInt64) -> UInt64 {
        (word &- ones) & ~word & highBits
    }

    @inline(__always)
    private static func word(_ bytes: UnsafeBufferPointer<UInt8>, at index: Int) -> UInt64? {
        guard index + 8 <= bytes.count else { return nil }
        return UInt64(littleEndian: UnsafeRawBufferPointer(bytes).loadUnaligned(fromByteOffset: index, as: UInt64.self))
    }
}

extension String {
    /// Whether it has a U+0000, which PostgreSQL cannot store. Payloads hold strings of thousands of bytes, so these are not read one by one.
    package var hasNUL: Bool {
        var text = self
        return text.withUTF8 { ByteScan.firstIndex(of: 0, in: $0, from: 0) != nil }
    }
}
