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
    fileprivate static func encoding(_ write: (UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>?) -> Int32) -> [UInt8]? {
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

/// The contents of a new OCSP answer about one certificate, for the simulated responders of tests.
package struct OCSPAnswerBuilder: Sendable {
    /// What the answer says.
    package enum Status: Hashable, Sendable {
        case good
        /// Seconds since 1970; nil omits the reason.
        case revoked(at: Int64, OCSPRevocation.Reason?)
        case unknown
    }

    package var certificate: Certificate
    package var issuer: Certificate
    package var status: Status
    /// Seconds since 1970.
    package var thisUpdate: Int64
    /// Nil omits it.
    package var nextUpdate: Int64?

    package init(about certificate: Certificate, issuedBy issuer: Certificate, _ status: Status, thisUpdate: Int64, nextUpdate: Int64?) {
        self.certificate = certificate
        self.issuer = issuer
        self.status = status
        self.thisUpdate = thisUpdate
        self.nextUpdate = nextUpdate
    }

    /// The answer in DER, with the certificate of the signer in it.
    package func signed(by signer: Certificate, key: PrivateKey) throws(OpenSSLError) -> [UInt8] {
        let failure = "an OCSP answer cannot be written"
        guard let answer = OCSP_BASICRESP_new() else { throw .afterFailure(.ocspFailed, failure) }
        defer { OCSP_BASICRESP_free(answer) }
        guard add(to: answer), OCSP_basic_sign(answer, signer.handle, key.handle, key.defaultDigest.handle, nil, 0) == 1 else {
            throw .afterFailure(.ocspFailed, failure)
        }
        let response = OCSP_response_create(OCSP_RESPONSE_STATUS_SUCCESSFUL, answer)
        defer { OCSP_RESPONSE_free(response) }
        guard let der = OCSPRequest.encoding({ i2d_OCSP_RESPONSE(response, $0) }) else { throw .afterFailure(.ocspFailed, failure) }
        return der
    }

    private func add(to answer: OpaquePointer) -> Bool {
        let id = OCSP_cert_to_id(nil, certificate.handle, issuer.handle)
        defer { OCSP_CERTID_free(id) }
        let times = [thisUpdate, nextUpdate ?? 0, revocationTime].map { ASN1_GENERALIZEDTIME_set(nil, Int($0)) }
        defer { for time in times { ASN1_GENERALIZEDTIME_free(time) } }
        let next = nextUpdate == nil ? nil : times[1]
        let (number, reason): (Int32, Int32) =
            switch status {
            case .good: (V_OCSP_CERTSTATUS_GOOD, 0)
            case .revoked(_, let reason): (V_OCSP_CERTSTATUS_REVOKED, reason?.number ?? OCSP_REVOKED_STATUS_NOSTATUS)
            case .unknown: (V_OCSP_CERTSTATUS_UNKNOWN, 0)
            }
        let isRevoked = number == V_OCSP_CERTSTATUS_REVOKED
        return OCSP_basic_add1_status(answer, id, number, reason, isRevoked ? times[2] : nil, times[0], next) != nil
    }

    private var revocationTime: Int64 {
        if case .revoked(let time, _) = status { time } else { 0 }
    }

    /// The answer of a responder that refuses to answer, "try later".
    package static func refusal() throws(OpenSSLError) -> [UInt8] {
        let response = OCSP_response_create(OCSP_RESPONSE_STATUS_TRYLATER, nil)
        defer { OCSP_RESPONSE_free(response) }
        guard let der = OCSPRequest.encoding({ i2d_OCSP_RESPONSE(response, $0) }) else {
            throw .afterFailure(.ocspFailed, "an OCSP answer cannot be written")
        }
        return der
    }
}
