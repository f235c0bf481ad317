internal import COpenSSL

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
