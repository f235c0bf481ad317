internal import COpenSSL

/// A public key that verifies signatures; safe to use from several threads at a time.
///
/// `@unchecked Sendable`: this object never changes the `EVP_PKEY` and the context after init. Each verification uses a copy of the
/// context; copying only reads the original and counts references atomically.
package final class PublicKey: @unchecked Sendable {
    let handle: OpaquePointer
    /// A context ready for verification, to be copied: a new context would fetch the algorithm under a lock.
    private let context: OpaquePointer?

    /// Whether this is a key on NIST P-256 that names its curve; false for explicit curve parameters.
    package let isP256: Bool

    /// Takes ownership of `handle`.
    init(owning handle: OpaquePointer) {
        self.handle = handle
        isP256 = Self.isOnNamedCurve(handle, "prime256v1")
        context = Self.verificationContext(for: handle)
    }

    /// Reads a SubjectPublicKeyInfo in DER (RFC 5280 §4.1.2.7) with nothing after it.
    package convenience init(der: [UInt8]) throws(OpenSSLError) {
        let (key, consumed) = der.withUnsafeBufferPointer { bytes in
            var cursor = bytes.baseAddress
            let key = d2i_PUBKEY(nil, &cursor, bytes.count)
            return (key, cursor.map { $0 - (bytes.baseAddress ?? $0) } ?? 0)
        }
        guard let key else { throw .afterFailure(.malformedKey, "not a public key in DER") }
        guard consumed == der.count else {
            EVP_PKEY_free(key)
            throw OpenSSLError(.trailingBytes, "bytes after the DER of a public key")
        }
        self.init(owning: key)
    }

    /// The SubjectPublicKeyInfo in DER.
    package var der: [UInt8] {
        // Encoding fails only if memory runs out.
        let count = max(0, Int(i2d_PUBKEY(handle, nil)))
        return [UInt8](unsafeUninitializedCapacity: count) { buffer, written in
            var cursor = buffer.baseAddress
            written = max(0, Int(i2d_PUBKEY(handle, &cursor)))
        }
    }

    deinit {
        EVP_PKEY_CTX_free(context)
        EVP_PKEY_free(handle)
    }

    /// Whether `signature` is a genuine ECDSA signature with SHA-256 of `message` (ES256, RFC 7518 §3.4).
    ///
    /// Also false if `signature` is not r and s side by side in 64 bytes, each in 1 ..< n, or if the key is not on P-256.
    package func verifyES256(signature: [UInt8], message: ArraySlice<UInt8>) -> Bool {
        guard isP256, let der = ECDSASignature.der(fromRaw: signature) else { return false }
        return verify(der: der, digest: MessageDigest.sha256.hash(message))
    }

    /// Whether libcrypto takes a signature in DER for one of `digest`.
    func verify(der signature: [UInt8], digest: [UInt8]) -> Bool {
        guard let context, let copy = EVP_PKEY_CTX_dup(context) else { return false }
        defer { EVP_PKEY_CTX_free(copy) }
        let isGenuine = EVP_PKEY_verify(copy, signature, signature.count, digest, digest.count) == 1
        if !isGenuine { ERR_clear_error() }
        return isGenuine
    }

    /// Nil for a key that cannot verify signatures.
    private static func verificationContext(for handle: OpaquePointer) -> OpaquePointer? {
        let context = EVP_PKEY_CTX_new_from_pkey(nil, handle, nil)
        if context != nil, EVP_PKEY_verify_init(context) == 1 { return context }
        EVP_PKEY_CTX_free(context)
        ERR_clear_error()
        return nil
    }

    private static func isOnNamedCurve(_ handle: OpaquePointer, _ curve: String) -> Bool {
        defer { ERR_clear_error() }
        var name = [CChar](repeating: 0, count: 64)
        var explicitParameters: Int32 = 0
        guard EVP_PKEY_get_group_name(handle, &name, name.count, nil) == 1,
            curve.utf8CString.elementsEqual(name.prefix(curve.utf8.count + 1))
        else {
            return false
        }
        return EVP_PKEY_get_int_param(handle, OSSL_PKEY_PARAM_EC_DECODED_FROM_EXPLICIT_PARAMS, &explicitParameters) == 1
            && explicitParameters == 0
    }
}

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

/// A P-256 signature in the two forms that protocols use: r and s side by side (RFC 7518 §3.4) and DER (RFC 3279 §2.2.3).
package enum ECDSASignature {
    static let rawByteCount = 64

    /// Whether `raw` is r and s side by side in 64 bytes, each in 1 ..< n.
    ///
    /// A high s is valid: half of Apple's signatures have one.
    package static func isWellFormed(raw: [UInt8]) -> Bool {
        raw.count == rawByteCount && isInRange(raw[..<32]) && isInRange(raw[32...])
    }

    /// The order n of P-256's base point (SEC 2 §2.4.2): r and s lie in 1 ..< n.
    private static let order: [UInt8] = [
        0xff, 0xff, 0xff, 0xff, 0x00, 0x00, 0x00, 0x00, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
        0xbc, 0xe6, 0xfa, 0xad, 0xa7, 0x17, 0x9e, 0x84, 0xf3, 0xb9, 0xca, 0xc2, 0xfc, 0x63, 0x25, 0x51,
    ]

    /// `SEQUENCE { INTEGER r, INTEGER s }`, or nil unless `raw` is well-formed.
    static func der(fromRaw raw: [UInt8]) -> [UInt8]? {
        guard isWellFormed(raw: raw) else { return nil }
        var der: [UInt8] = [0x30, 0]
        der.reserveCapacity(72)
        appendInteger(raw[..<32], to: &der)
        appendInteger(raw[32...], to: &der)
        der[1] = UInt8(der.count - 2)
        return der
    }

    private static func isInRange(_ integer: ArraySlice<UInt8>) -> Bool {
        integer.contains { $0 != 0 } && integer.lexicographicallyPrecedes(order)
    }

    private static func appendInteger(_ bigEndian: ArraySlice<UInt8>, to der: inout [UInt8]) {
        let magnitude = bigEndian.drop { $0 == 0 }
        let needsSignByte = (magnitude.first ?? 0) >= 0x80
        der.append(0x02)
        der.append(UInt8(magnitude.count + (needsSignByte ? 1 : 0)))
        if needsSignByte { der.append(0) }
        der.append(contentsOf: magnitude)
    }
}
