/// Derives keys from a secret with HMAC-SHA256 (RFC 5869).
package enum HKDF {
    /// - Parameters:
    ///   - secret: the input keying material.
    ///   - count: the length of the key in bytes, at most 8160.
    package static func sha256(_ secret: [UInt8], salt: [UInt8], info: [UInt8], count: Int) -> [UInt8] {
        precondition(count <= 255 * Digest.sha256ByteCount, "HKDF-SHA256 makes keys of at most 8160 bytes")
        let pseudorandomKey = HMAC.sha256(secret, key: salt)
        var (key, block, number): ([UInt8], [UInt8], UInt8) = ([], [], 1)
        while key.count < count {
            block = HMAC.sha256(block + info + [number], key: pseudorandomKey)
            key += block
            number &+= 1
        }
        return Array(key.prefix(count))
    }
}
