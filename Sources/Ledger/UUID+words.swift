import FoundationEssentials
import OpenSSL

extension UUID {
    /// A name-based UUID (RFC 9562 section 5.5) of words, joined with NUL, which no verified fact contains.
    init(version5In namespace: UUID, words: [String]) {
        self.init(digestOf: words, in: namespace, version: 5)
    }

    /// The same with another version in its place.
    init(digestOf words: [String], in namespace: UUID, version: UInt8) {
        let name = words.joined(separator: "\u{0}")
        let digest = Digest.sha1(withUnsafeBytes(of: namespace.uuid) { Array($0) } + Array(name.utf8))
        let versioned = (digest[6] & 0x0f) | (version << 4)
        let variant = (digest[8] & 0x3f) | 0x80
        self.init(
            uuid: (
                digest[0], digest[1], digest[2], digest[3], digest[4], digest[5], versioned, digest[7],
                variant, digest[9], digest[10], digest[11], digest[12], digest[13], digest[14], digest[15]
            )
        )
    }
}
