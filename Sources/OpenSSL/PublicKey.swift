internal import COpenSSL
import Synchronization

/// A public key that checks signatures; any number of threads may use one at a time.
///
/// A key on P-256 that is used often gets a table of its point's multiples, which more than halves the cost of each verification.
///
/// `@unchecked Sendable`: the `EVP_PKEY` and the context are owned alone and never changed after init; each verification uses a copy of
/// the context, and making one only reads it and counts references atomically.
package final class PublicKey: @unchecked Sendable {
    let handle: OpaquePointer
    /// A context made ready for verification, to be copied: making one anew each time costs a search for the algorithm under a lock.
    private let context: OpaquePointer?

    /// Whether this is a key on NIST P-256 that names its curve; one that spells the curve's parameters out is not.
    package let isP256: Bool

    /// How often a key is used before its table is made; less than that would not pay for it.
    package static let usesBeforeTable = 1000
    private let table = Mutex(Table.none(uses: 0))

    private enum Table {
        case none(uses: Int)
        /// A thread is computing it; the others go on without.
        case inTheMaking
        case made(PointTable?)
    }

    /// Owns `handle` from now on.
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

    deinit {
        EVP_PKEY_CTX_free(context)
        EVP_PKEY_free(handle)
    }

    /// Whether `signature` is a genuine ECDSA signature with SHA-256 of `message` (ES256, RFC 7518 §3.4).
    ///
    /// False too when `signature` is not r and s side by side in 64 bytes, each in 1 ..< n, or the key is not on P-256.
    package func verifyES256(signature: [UInt8], message: ArraySlice<UInt8>) -> Bool {
        guard isP256, let der = ECDSASignature.der(fromRaw: signature) else { return false }
        let digest = MessageDigest.sha256.hash(message)
        // Where the table says no, libcrypto's own verification has the last word.
        return tableInUse()?.verify(signature, digest: digest) ?? false || verify(der: der, digest: digest)
    }

    /// Whether the table is made, or this libcrypto makes none: no later verification will be faster.
    package var isAtItsFastest: Bool {
        table.withLock { table in
            if case .made = table { return true }
            return false
        }
    }

    /// The table once it is made; counts the use, and makes the table when it is time.
    private func tableInUse() -> PointTable? {
        let (made, isDue): (PointTable?, Bool) = table.withLock { table in
            switch table {
            case .none(let uses) where uses < Self.usesBeforeTable:
                table = .none(uses: uses + 1)
                return (nil, false)
            case .none:
                table = .inTheMaking
                return (nil, true)
            case .inTheMaking: return (nil, false)
            case .made(let made): return (made, false)
            }
        }
        guard isDue else { return made }
        let new = PointTable(of: handle)
        table.withLock { $0 = .made(new) }
        return new
    }

    /// Whether `signature`, in DER, is a genuine ECDSA signature with SHA-256 or SHA-384 of `message`: the form in certificates.
    package func verifyDER(signature: [UInt8], message: [UInt8], sha384: Bool) -> Bool {
        let digest: MessageDigest = sha384 ? .sha384 : .sha256
        return verify(der: signature, digest: digest.hash(message[...]))
    }

    private func verify(der signature: [UInt8], digest: [UInt8]) -> Bool {
        guard let context, let copy = EVP_PKEY_CTX_dup(context) else { return false }
        defer { EVP_PKEY_CTX_free(copy) }
        let isGenuine = EVP_PKEY_verify(copy, signature, signature.count, digest, digest.count) == 1
        if !isGenuine { ERR_clear_error() }
        return isGenuine
    }

    /// Nil for a key that makes no signatures.
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
