internal import COpenSSL

extension PublicKey {
    /// The size of the modulus in bits; nil unless this is an RSA key.
    package var rsaBitCount: Int? {
        EVP_PKEY_get_base_id(handle) == EVP_PKEY_RSA ? Int(EVP_PKEY_get_bits(handle)) : nil
    }

    /// Whether `signature` is a genuine RSA signature of `message` by PKCS #1 v1.5 (RFC 8017 §8.2) with that digest.
    ///
    /// Also false if this is not an RSA key. libcrypto encodes the expected digest and compares, so it parses nothing in the signature.
    package func verifyRSA(signature: [UInt8], message: [UInt8], digest: SignatureDigest) -> Bool {
        guard rsaBitCount != nil, let context = EVP_PKEY_CTX_new_from_pkey(nil, handle, nil) else { return false }
        defer { EVP_PKEY_CTX_free(context) }
        let hash = digest.hash(message)
        let isGenuine =
            EVP_PKEY_verify_init(context) == 1
            && EVP_PKEY_CTX_set_rsa_padding(context, RSA_PKCS1_PADDING) == 1
            && EVP_PKEY_CTX_set_signature_md(context, digest.messageDigest.handle) == 1
            && EVP_PKEY_verify(context, signature, signature.count, hash, hash.count) == 1
        if !isGenuine { ERR_clear_error() }
        return isGenuine
    }
}
