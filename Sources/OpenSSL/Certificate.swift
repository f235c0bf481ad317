internal import COpenSSL

/// One X.509 certificate.
///
/// `@unchecked Sendable`: this object alone owns the `X509` and never changes it after init, where libcrypto also fills its extension
/// cache.
package final class Certificate: @unchecked Sendable {
    let handle: OpaquePointer

    /// The certificate's encoding, byte for byte as read.
    package let der: [UInt8]
    /// The first second of the validity period, since 1970.
    package let notBefore: Int64
    /// The last second of the validity period, since 1970.
    package let notAfter: Int64
    /// The subject's key; nil if libcrypto does not support its algorithm.
    package let publicKey: PublicKey?

    /// Reads one certificate in DER.
    ///
    /// Throws `trailingBytes` for bytes after the certificate, and `malformedCertificate` for anything else: also for BER, and for malformed
    /// or duplicate extensions.
    package convenience init(der: [UInt8]) throws(OpenSSLError) {
        let (handle, consumed) = der.withUnsafeBufferPointer { bytes in
            var cursor = bytes.baseAddress
            let certificate = d2i_X509(nil, &cursor, bytes.count)
            return (certificate, cursor.map { $0 - (bytes.baseAddress ?? $0) } ?? 0)
        }
        guard let handle else { throw .afterFailure(.malformedCertificate, "not an X.509 certificate in DER") }
        guard consumed == der.count else {
            X509_free(handle)
            throw OpenSSLError(.trailingBytes, "bytes after the DER of a certificate")
        }
        try self.init(owning: handle)
        // d2i accepts some BER too. Pinning and caching by bytes need the unique encoding of DER.
        guard self.der == der else { throw OpenSSLError(.malformedCertificate, "a certificate in BER, not in DER") }
    }

    /// Takes ownership of `handle`, also when it throws.
    init(owning handle: OpaquePointer) throws(OpenSSLError) {
        do throws(OpenSSLError) {
            // Purpose -1 checks no purpose: it fills the extension cache, and fails on a malformed or duplicate extension.
            guard X509_check_purpose(handle, -1, 0) == 1 else {
                throw .afterFailure(.malformedCertificate, "a certificate with malformed or duplicate extensions")
            }
            der = try Self.encode(handle)
            notBefore = try Self.seconds(X509_get0_notBefore(handle))
            notAfter = try Self.seconds(X509_get0_notAfter(handle))
        } catch {
            X509_free(handle)
            throw error
        }
        self.handle = handle
        publicKey = X509_get_pubkey(handle).map(PublicKey.init(owning:))
        ERR_clear_error()
    }

    deinit { X509_free(handle) }

    /// SHA-256 of the DER, as certificate authorities publish it.
    package var sha256Fingerprint: [UInt8] { Digest.sha256(der) }

    private static func encode(_ handle: OpaquePointer) throws(OpenSSLError) -> [UInt8] {
        let count = Int(i2d_X509(handle, nil))
        guard count > 0 else { throw .afterFailure(.malformedCertificate, "a certificate that cannot be encoded") }
        return [UInt8](unsafeUninitializedCapacity: count) { buffer, written in
            var cursor = buffer.baseAddress
            written = max(0, Int(i2d_X509(handle, &cursor)))
        }
    }

    private static func seconds(_ time: UnsafePointer<ASN1_TIME>?) throws(OpenSSLError) -> Int64 {
        var seconds: Int64 = 0
        guard COpenSSL_ASN1_TIME_to_seconds(time, &seconds) == 1 else {
            throw .afterFailure(.malformedCertificate, "a certificate with an unreadable validity period")
        }
        return seconds
    }
}

extension Certificate: Hashable {
    package static func == (left: Certificate, right: Certificate) -> Bool { left.der == right.der }
    package func hash(into hasher: inout Hasher) { hasher.combine(der) }
}
