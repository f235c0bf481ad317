internal import COpenSSL

extension Certificate {
    /// Reads every certificate of a PEM text, in its order; anything between the blocks is ignored, as openssl(1) does.
    ///
    /// Throws `malformedCertificate` when there is none or one is damaged.
    package static func bundle(pem: [UInt8]) throws(OpenSSLError) -> [Certificate] {
        let unreadable = OpenSSLError(.malformedCertificate, "no room to read PEM")
        let certificates = try PEM.reading(
            pem,
            { bio throws(OpenSSLError) in
                var certificates: [Certificate] = []
                while let handle = PEM_read_bio_X509(bio, nil, COpenSSL_no_password, nil) {
                    certificates.append(try Certificate(owning: handle))
                }
                // The end of the text and a damaged block both end the loop; only the reason tells them apart.
                let reason = ERR_peek_last_error()
                guard ERR_GET_REASON(reason) == PEM_R_NO_START_LINE, ERR_GET_LIB(reason) == ERR_LIB_PEM else {
                    throw .afterFailure(.malformedCertificate, "a damaged certificate in PEM after \(certificates.count) whole ones")
                }
                ERR_clear_error()
                return certificates
            },
            otherwise: unreadable
        )
        guard !certificates.isEmpty else { throw OpenSSLError(.malformedCertificate, "no certificate in PEM") }
        return certificates
    }

    /// Reads a PEM text with exactly one certificate.
    package static func single(pem: String) throws(OpenSSLError) -> Certificate {
        let certificates = try bundle(pem: Array(pem.utf8))
        guard certificates.count == 1 else {
            throw OpenSSLError(.trailingBytes, "\(certificates.count) certificates in PEM where one is expected")
        }
        return certificates[0]
    }

    /// The certificate as a PEM block.
    package var pem: String {
        // Writing to memory fails for want of memory only.
        PEM.writing { PEM_write_bio_X509($0, handle) == 1 } ?? ""
    }
}
