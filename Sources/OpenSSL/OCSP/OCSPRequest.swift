internal import COpenSSL

/// A question to an OCSP responder about one certificate (RFC 6960 §4.1).
///
/// Has no nonce, because responders sign their answers in advance (RFC 5019), and names the issuer by SHA-1, which all of them understand.
package struct OCSPRequest: Hashable, Sendable {
    package let der: [UInt8]

    package init(for certificate: Certificate, issuedBy issuer: Certificate) throws(OpenSSLError) {
        let request = OCSP_REQUEST_new()
        defer { OCSP_REQUEST_free(request) }
        let id = OCSP_cert_to_id(nil, certificate.handle, issuer.handle)
        guard let id, OCSP_request_add0_id(request, id) != nil else {
            OCSP_CERTID_free(id)
            throw .afterFailure(.ocspFailed, "an OCSP request cannot be written")
        }
        guard let der = Self.encoding({ i2d_OCSP_REQUEST(request, $0) }) else {
            throw .afterFailure(.ocspFailed, "an OCSP request cannot be encoded")
        }
        self.der = der
    }

    /// What an i2d function of libcrypto writes.
    static func encoding(_ write: (UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>?) -> Int32) -> [UInt8]? {
        let count = Int(write(nil))
        guard count > 0 else { return nil }
        return [UInt8](unsafeUninitializedCapacity: count) { buffer, written in
            var cursor = buffer.baseAddress
            written = max(0, Int(write(&cursor)))
        }
    }
}

extension Certificate {
    /// The addresses of the OCSP responders that the issuer has written into the certificate (RFC 5280 §4.2.2.1), in order.
    package var ocspAddresses: [String] {
        let addresses = X509_get1_ocsp(handle)
        defer { X509_email_free(addresses) }
        // There is no stack, and -1 in it, where the certificate names none.
        return (0..<max(0, COpenSSL_sk_STRING_num(addresses))).compactMap { index in
            COpenSSL_sk_STRING_value(addresses, index).map { String(cString: $0) }
        }
    }
}
