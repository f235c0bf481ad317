import OpenSSL

/// The SHA-256 of a body, kept in its place: a million bodies do not fit into memory.
struct BodyDigest: Hashable, Comparable, CustomStringConvertible {
    /// A tuple, so that a digest needs no allocation.
    private let words: (UInt64, UInt64, UInt64, UInt64)

    /// Hashes a body.
    init(of body: [UInt8]) {
        self.init(bytes: Digest.sha256(body))
    }

    /// Takes the 32 bytes that PostgreSQL's `sha256()` returns.
    init(bytes: [UInt8]) {
        func word(_ index: Int) -> UInt64 { bytes.dropFirst(8 * index).prefix(8).reduce(0) { $0 << 8 | UInt64($1) } }
        words = (word(0), word(1), word(2), word(3))
    }

    static func == (left: BodyDigest, right: BodyDigest) -> Bool { left.words == right.words }
    static func < (left: BodyDigest, right: BodyDigest) -> Bool { left.words < right.words }

    /// The first word of a SHA-256 is evenly distributed.
    func hash(into hasher: inout Hasher) {
        hasher.combine(words.0)
    }

    var description: String {
        [words.0, words.1, words.2, words.3].map { String($0, radix: 16) }
            .map { String(repeating: "0", count: 16 - $0.count) + $0 }.joined()
    }
}
