internal import COpenSSL

/// Hash functions over whole byte strings.
package enum Digest {
    /// The length of a SHA-256.
    fileprivate static let sha256ByteCount = 32

    /// SHA-256 (FIPS 180-4), 32 bytes.
    package static func sha256(_ bytes: [UInt8]) -> [UInt8] { MessageDigest.sha256.hash(bytes[...]) }

    /// SHA-1 (FIPS 180-4), 20 bytes: for identifiers such as a UUIDv5, never for a signature.
    package static func sha1(_ bytes: [UInt8]) -> [UInt8] { MessageDigest.sha1.hash(bytes[...]) }

    /// Whether two secrets are equal, in a time that depends neither on how much of them agrees nor on whether their lengths differ.
    package static func areEqualInConstantTime(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        let (left, right) = (sha256(left), sha256(right))
        return CRYPTO_memcmp(left, right, left.count) == 0
    }
}

/// A digest algorithm, fetched from its provider once: each fetch takes a lock and costs as much as hashing a kilobyte.
///
/// `@unchecked Sendable`: an `EVP_MD` never changes after the fetch, and libcrypto counts references to it atomically.
final class MessageDigest: @unchecked Sendable {
    static let sha1 = MessageDigest("SHA1", byteCount: 20, builtIn: EVP_sha1())
    static let sha256 = MessageDigest("SHA256", byteCount: 32, builtIn: EVP_sha256())
    static let sha384 = MessageDigest("SHA384", byteCount: 48, builtIn: EVP_sha384())

    let handle: OpaquePointer?
    private let byteCount: Int
    private let fetched: OpaquePointer?

    private init(_ name: String, byteCount: Int, builtIn: OpaquePointer?) {
        self.byteCount = byteCount
        fetched = EVP_MD_fetch(nil, name, nil)
        handle = fetched ?? builtIn
    }

    deinit { EVP_MD_free(fetched) }

    func hash(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: byteCount) { digest, count in
            let hashed = bytes.withUnsafeBytes { EVP_Digest($0.baseAddress, $0.count, digest.baseAddress, nil, handle, nil) }
            precondition(hashed == 1, "libcrypto is out of memory or has no provider for a SHA digest")
            count = byteCount
        }
    }
}

/// The digests of RSA signatures.
package enum SignatureDigest: Sendable {
    /// Only for old signatures: collisions are feasible.
    case sha1
    case sha256

    var messageDigest: MessageDigest {
        switch self {
        case .sha1: .sha1
        case .sha256: .sha256
        }
    }

    /// The digest of these bytes.
    package func hash(_ bytes: [UInt8]) -> [UInt8] { messageDigest.hash(bytes[...]) }
}

/// SHA-256 over bytes that come in parts.
package final class SHA256Stream {
    private let context: OpaquePointer

    package init() {
        guard let context = EVP_MD_CTX_new(), EVP_DigestInit_ex(context, MessageDigest.sha256.handle, nil) == 1 else {
            preconditionFailure("libcrypto is out of memory or has no provider for a SHA digest")
        }
        self.context = context
    }

    deinit { EVP_MD_CTX_free(context) }

    package func update(_ bytes: [UInt8]) {
        let updated = bytes.withUnsafeBytes { EVP_DigestUpdate(context, $0.baseAddress, $0.count) }
        precondition(updated == 1, "libcrypto refuses bytes of a SHA digest")
    }

    /// The digest of all bytes, 32 bytes. Nothing may be called after it.
    package func digest() -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: Digest.sha256ByteCount) { digest, count in
            let ended = EVP_DigestFinal_ex(context, digest.baseAddress, nil)
            precondition(ended == 1, "libcrypto refuses to end a SHA digest")
            count = Digest.sha256ByteCount
        }
    }
}

/// Message authentication codes (RFC 2104).
package enum HMAC {
    /// HMAC-SHA256, 32 bytes.
    package static func sha256(_ message: [UInt8], key: [UInt8]) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: Digest.sha256ByteCount) { code, count in
            // A null key would mean the key of an earlier call.
            let key = key.isEmpty ? [0] : key
            let made = COpenSSL.HMAC(MessageDigest.sha256.handle, key, CInt(key.count), message, message.count, code.baseAddress, nil)
            precondition(made != nil, "libcrypto is out of memory or has no provider for HMAC")
            count = Digest.sha256ByteCount
        }
    }
}

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
