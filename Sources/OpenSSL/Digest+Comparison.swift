internal import COpenSSL

extension Digest {
    /// Whether two secrets are equal, in a time that depends neither on how much of them agrees nor on whether their lengths differ.
    package static func areEqualInConstantTime(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        let (left, right) = (sha256(left), sha256(right))
        return CRYPTO_memcmp(left, right, left.count) == 0
    }
}
