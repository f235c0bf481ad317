internal import COpenSSL

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
