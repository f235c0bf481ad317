internal import COpenSSL

/// An elliptic curve or RSA key that signs; safe to use from several threads at a time.
///
/// `@unchecked Sendable`: this object never changes its `EVP_PKEY` after init; each signature uses a new context.
package final class PrivateKey: @unchecked Sendable {
    /// The curves that App Store certificates use.
    package enum Curve: String, Sendable {
        case p256 = "P-256"
        case p384 = "P-384"
    }

    let handle: OpaquePointer
    package let publicKey: PublicKey

    init(owning handle: OpaquePointer) throws(OpenSSLError) {
        do throws(OpenSSLError) {
            guard [EVP_PKEY_EC, EVP_PKEY_RSA].contains(EVP_PKEY_get_base_id(handle)) else {
                throw OpenSSLError(.unsupportedKey, "neither an elliptic curve key nor an RSA key")
            }
            guard EVP_PKEY_up_ref(handle) == 1 else { throw .afterFailure(.malformedKey, "a key that cannot be shared") }
        } catch {
            EVP_PKEY_free(handle)
            throw error
        }
        self.handle = handle
        publicKey = PublicKey(owning: handle)
    }

    /// Makes a new key with libcrypto's random generator.
    package static func generate(_ curve: Curve) throws(OpenSSLError) -> PrivateKey {
        guard let handle = COpenSSL_EC_gen(curve.rawValue) else {
            throw .afterFailure(.unsupportedKey, "libcrypto cannot make a \(curve.rawValue) key")
        }
        return try PrivateKey(owning: handle)
    }

    /// Reads an unencrypted elliptic curve or RSA key in PEM (PKCS #8, or as openssl-ecparam(1) and openssl-rsa(1) write it).
    package convenience init(pem: String) throws(OpenSSLError) {
        let unreadable = OpenSSLError(.malformedKey, "not an unencrypted private key in PEM")
        let handle = try PEM.reading(
            Array(pem.utf8),
            { bio throws(OpenSSLError) in
                guard let handle = PEM_read_bio_PrivateKey(bio, nil, COpenSSL_no_password, nil) else {
                    throw .afterFailure(.malformedKey, unreadable.message)
                }
                ERR_clear_error()
                return handle
            },
            otherwise: unreadable
        )
        try self.init(owning: handle)
    }

    deinit { EVP_PKEY_free(handle) }

    /// The unencrypted key as a PKCS #8 PEM block: a secret.
    package var pem: String {
        // Writing to memory fails only if memory runs out.
        PEM.writing { PEM_write_bio_PKCS8PrivateKey($0, handle, nil, nil, 0, nil, nil) == 1 } ?? ""
    }

    /// Signs with ECDSA and SHA-256: r and s side by side, 64 bytes (ES256, RFC 7518 §3.4).
    ///
    /// Throws `unsupportedKey` unless the key is on P-256.
    package func signES256(_ message: [UInt8]) throws(OpenSSLError) -> [UInt8] {
        guard publicKey.isP256 else { throw OpenSSLError(.unsupportedKey, "ES256 needs a key on P-256") }
        let der = try sign(digest: MessageDigest.sha256.hash(message[...]))
        let raw = der.withUnsafeBufferPointer { bytes -> [UInt8]? in
            var cursor = bytes.baseAddress
            guard let signature = d2i_ECDSA_SIG(nil, &cursor, bytes.count) else { return nil }
            defer { ECDSA_SIG_free(signature) }
            var raw = [UInt8](repeating: 0, count: ECDSASignature.rawByteCount)
            let written = raw.withUnsafeMutableBufferPointer { raw in
                BN_bn2binpad(ECDSA_SIG_get0_r(signature), raw.baseAddress, 32) == 32
                    && BN_bn2binpad(ECDSA_SIG_get0_s(signature), raw.baseAddress.map { $0 + 32 }, 32) == 32
            }
            return written ? raw : nil
        }
        guard let raw else { throw .afterFailure(.signingFailed, "libcrypto made an unreadable signature") }
        return raw
    }

    private func sign(digest: [UInt8]) throws(OpenSSLError) -> [UInt8] {
        let context = EVP_PKEY_CTX_new_from_pkey(nil, handle, nil)
        defer { EVP_PKEY_CTX_free(context) }
        var count = 0
        guard EVP_PKEY_sign_init(context) == 1, EVP_PKEY_sign(context, nil, &count, digest, digest.count) == 1 else {
            throw .afterFailure(.signingFailed, "libcrypto cannot sign with this key")
        }
        var signature = [UInt8](repeating: 0, count: count)
        guard EVP_PKEY_sign(context, &signature, &count, digest, digest.count) == 1 else {
            throw .afterFailure(.signingFailed, "libcrypto could not sign")
        }
        return Array(signature.prefix(count))
    }
}

extension PrivateKey {
    /// Makes a new RSA key with libcrypto's random generator; 2048 bits take some tenths of a second.
    package static func generateRSA(bitCount: Int) throws(OpenSSLError) -> PrivateKey {
        guard let handle = COpenSSL_RSA_gen(UInt32(clamping: bitCount)) else {
            throw .afterFailure(.unsupportedKey, "libcrypto cannot make an RSA key of \(bitCount) bits")
        }
        return try PrivateKey(owning: handle)
    }

    /// Signs by PKCS #1 v1.5 (RFC 8017 §8.2).
    ///
    /// Throws `unsupportedKey` unless this is an RSA key.
    package func signRSA(_ message: [UInt8], digest: SignatureDigest) throws(OpenSSLError) -> [UInt8] {
        guard publicKey.rsaBitCount != nil else { throw OpenSSLError(.unsupportedKey, "this signature needs an RSA key") }
        let context = EVP_PKEY_CTX_new_from_pkey(nil, handle, nil)
        defer { EVP_PKEY_CTX_free(context) }
        let hash = digest.hash(message)
        var count = 0
        guard EVP_PKEY_sign_init(context) == 1, EVP_PKEY_CTX_set_rsa_padding(context, RSA_PKCS1_PADDING) == 1,
            EVP_PKEY_CTX_set_signature_md(context, digest.messageDigest.handle) == 1,
            EVP_PKEY_sign(context, nil, &count, hash, hash.count) == 1
        else { throw .afterFailure(.signingFailed, "libcrypto cannot sign with this key") }
        var signature = [UInt8](repeating: 0, count: count)
        guard EVP_PKEY_sign(context, &signature, &count, hash, hash.count) == 1 else {
            throw .afterFailure(.signingFailed, "libcrypto could not sign")
        }
        return Array(signature.prefix(count))
    }

    /// The default digest of certificates that this key signs.
    var defaultDigest: MessageDigest { publicKey.isP256 || publicKey.rsaBitCount != nil ? .sha256 : .sha384 }
}

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
