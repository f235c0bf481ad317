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

/// The allowed uses of a certificate's key (RFC 5280 §4.2.1.3).
package struct KeyUsage: OptionSet, Hashable, Sendable {
    package let rawValue: UInt32
    package init(rawValue: UInt32) { self.rawValue = rawValue }

    /// Signatures over anything but certificates and revocation lists.
    package static let digitalSignature = Self(rawValue: UInt32(KU_DIGITAL_SIGNATURE))
    /// Signatures over certificates.
    package static let keyCertSign = Self(rawValue: UInt32(KU_KEY_CERT_SIGN))
    /// Signatures over revocation lists.
    package static let crlSign = Self(rawValue: UInt32(KU_CRL_SIGN))
}

extension Certificate {
    /// Whether basic constraints say that this is a certificate authority (RFC 5280 §4.2.1.9).
    package var isCA: Bool { X509_get_extension_flags(handle) & UInt32(EXFLAG_CA) != 0 }

    /// The key usage; nil when the certificate does not restrict it.
    package var keyUsage: KeyUsage? {
        guard X509_get_extension_flags(handle) & UInt32(EXFLAG_KUSAGE) != 0 else { return nil }
        return KeyUsage(rawValue: X509_get_key_usage(handle))
    }

    /// Whether `time`, in seconds since 1970, lies in the validity period, its ends included.
    package func isValid(at time: Int64) -> Bool { notBefore <= time && time <= notAfter }

    /// Whether subject and issuer have the same name and the key identifiers do not differ, as in a root. The signature is not checked.
    package var isSelfSigned: Bool { X509_get_extension_flags(handle) & UInt32(EXFLAG_SS) != 0 }

    /// Whether there is an extension with this dotted object identifier, critical or not.
    package func hasExtension(oid: String) -> Bool {
        defer { ERR_clear_error() }
        guard let object = OBJ_txt2obj(oid, 1) else { return false }
        defer { ASN1_OBJECT_free(object) }
        return X509_get_ext_by_OBJ(handle, object, -1) >= 0
    }
}

extension Certificate {
    /// Reads the certificates of a PEM text, in order; text between the blocks is ignored, as by openssl(1).
    ///
    /// Throws `malformedCertificate` if there is none or one is damaged.
    package static func bundle(pem: [UInt8]) throws(OpenSSLError) -> [Certificate] {
        let unreadable = OpenSSLError(.malformedCertificate, "out of memory while reading PEM")
        let certificates = try PEM.reading(
            pem,
            { bio throws(OpenSSLError) in
                var certificates: [Certificate] = []
                while let handle = PEM_read_bio_X509(bio, nil, COpenSSL_no_password, nil) {
                    certificates.append(try Certificate(owning: handle))
                }
                // The loop ends at the end of the text and at a damaged block; only the reason differs.
                let reason = ERR_peek_last_error()
                guard ERR_GET_REASON(reason) == PEM_R_NO_START_LINE, ERR_GET_LIB(reason) == ERR_LIB_PEM else {
                    throw .afterFailure(.malformedCertificate, "a damaged certificate in PEM after \(certificates.count) intact ones")
                }
                ERR_clear_error()
                return certificates
            },
            otherwise: unreadable
        )
        guard !certificates.isEmpty else { throw OpenSSLError(.malformedCertificate, "no certificate in PEM") }
        return certificates
    }

    /// Reads a PEM text with exactly one certificate; throws otherwise.
    package static func single(pem: String) throws(OpenSSLError) -> Certificate {
        let certificates = try bundle(pem: Array(pem.utf8))
        guard certificates.count == 1 else {
            throw OpenSSLError(.trailingBytes, "\(certificates.count) certificates in PEM where one is expected")
        }
        return certificates[0]
    }

    /// The certificate as a PEM block.
    package var pem: String {
        // Writing to memory fails only if memory runs out.
        PEM.writing { PEM_write_bio_X509($0, handle) == 1 } ?? ""
    }
}

/// A libcrypto memory buffer for the PEM functions (RFC 7468), lent in closures.
enum PEM {
    /// Calls `body` with a buffer that reads `bytes`.
    static func reading<Value>(
        _ bytes: [UInt8],
        _ body: (OpaquePointer) throws(OpenSSLError) -> Value,
        otherwise error: OpenSSLError
    ) throws(OpenSSLError) -> Value {
        // Copies the bytes: BIO_new_mem_buf would keep a pointer into the Swift array.
        guard let count = Int32(exactly: bytes.count), let bio = BIO_new(BIO_s_mem()) else { throw error }
        defer { BIO_free(bio) }
        guard count == 0 || BIO_write(bio, bytes, count) == count else { throw error }
        return try body(bio)
    }

    /// The text that `body` writes; nil if `body` returns false.
    static func writing(_ body: (OpaquePointer) -> Bool) -> String? {
        guard let bio = BIO_new(BIO_s_mem()) else { return nil }
        defer { BIO_free(bio) }
        guard body(bio) else { return nil }
        var start: UnsafeMutablePointer<CChar>?
        let count = COpenSSL_BIO_get_mem_data(bio, &start)
        return String(decoding: UnsafeRawBufferPointer(start: start, count: max(0, count)), as: UTF8.self)
    }
}
