/// Hash functions over whole byte strings.
package enum Digest {
    /// The length of a SHA-256.
    static let sha256ByteCount = 32

    /// SHA-256 (FIPS 180-4), 32 bytes.
    package static func sha256(_ bytes: [UInt8]) -> [UInt8] { MessageDigest.sha256.hash(bytes[...]) }

    /// SHA-1 (FIPS 180-4), 20 bytes: for identifiers such as a UUIDv5, never for a signature.
    package static func sha1(_ bytes: [UInt8]) -> [UInt8] { MessageDigest.sha1.hash(bytes[...]) }
}
