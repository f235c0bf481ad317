internal import COpenSSL

extension Digest {
    /// Whether two secrets are the same, in a time that tells nothing of how much of them is, nor of their lengths.
    package static func areEqualInConstantTime(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        let (left, right) = (sha256(left), sha256(right))
        return CRYPTO_memcmp(left, right, left.count) == 0
    }
}
