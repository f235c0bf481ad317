internal import COpenSSL

/// An Ed25519 key that signs (RFC 8032); safe to use from several threads at a time.
///
/// `@unchecked Sendable`: this object never changes its `EVP_PKEY` after init; each signature uses a new context.
package final class Ed25519Key: @unchecked Sendable {
    private let handle: OpaquePointer
    /// The public key, 32 bytes.
    package let publicKey: [UInt8]

    /// - Parameter seed: the private key, 32 bytes.
    package init(seed: [UInt8]) throws(OpenSSLError) {
        guard seed.count == 32, let handle = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nil, seed, seed.count) else {
            throw .afterFailure(.malformedKey, "not the seed of an Ed25519 key")
        }
        var (publicKey, count) = ([UInt8](repeating: 0, count: 32), 32)
        guard EVP_PKEY_get_raw_public_key(handle, &publicKey, &count) == 1, count == 32 else {
            EVP_PKEY_free(handle)
            throw .afterFailure(.malformedKey, "an Ed25519 key without a public key")
        }
        self.handle = handle
        self.publicKey = publicKey
    }

    deinit { EVP_PKEY_free(handle) }

    /// The signature of a message, 64 bytes.
    package func sign(_ message: [UInt8]) throws(OpenSSLError) -> [UInt8] {
        let context = EVP_MD_CTX_new()
        defer { EVP_MD_CTX_free(context) }
        var (signature, count) = ([UInt8](repeating: 0, count: 64), 64)
        guard EVP_DigestSignInit(context, nil, nil, nil, handle) == 1,
            EVP_DigestSign(context, &signature, &count, message, message.count) == 1, count == 64
        else {
            throw .afterFailure(.signingFailed, "libcrypto cannot sign with this key")
        }
        return signature
    }
}
