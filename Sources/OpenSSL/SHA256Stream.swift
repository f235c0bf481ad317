internal import COpenSSL

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
