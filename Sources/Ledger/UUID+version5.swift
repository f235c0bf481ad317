import FoundationEssentials
import OpenSSL

extension UUID {
    /// A name-based UUID (RFC 9562 section 5.5) of words, joined with NUL, which no verified fact contains.
    init(version5In namespace: UUID, words: [String]) {
        let name = words.joined(separator: "\u{0}")
        let digest = Digest.sha1(withUnsafeBytes(of: namespace.uuid) { Array($0) } + Array(name.utf8))
        let version = (digest[6] & 0x0f) | 0x50
        let variant = (digest[8] & 0x3f) | 0x80
        self.init(
            uuid: (
                digest[0], digest[1], digest[2], digest[3], digest[4], digest[5], version, digest[7],
                variant, digest[9], digest[10], digest[11], digest[12], digest[13], digest[14], digest[15]
            )
        )
    }
}
