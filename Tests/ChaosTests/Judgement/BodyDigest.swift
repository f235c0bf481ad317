import OpenSSL

/// The SHA-256 of a body, which stands for it: a million bodies would not fit into memory.
struct BodyDigest: Hashable, Comparable, CustomStringConvertible {
    private let words: [UInt64]

    /// Of a body.
    init(of body: [UInt8]) {
        self.init(bytes: Digest.sha256(body))
    }

    /// From its 32 bytes, as PostgreSQL's `sha256()` gives them.
    init(bytes: [UInt8]) {
        words = stride(from: 0, to: bytes.count, by: 8).map { start in
            bytes[start..<min(start + 8, bytes.count)].reduce(0) { $0 << 8 | UInt64($1) }
        }
    }

    static func < (left: BodyDigest, right: BodyDigest) -> Bool { left.words.lexicographicallyPrecedes(right.words) }

    var description: String {
        words.map { String($0, radix: 16) }.map { String(repeating: "0", count: 16 - $0.count) + $0 }.joined()
    }
}
