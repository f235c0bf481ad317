internal import COpenSSL

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
