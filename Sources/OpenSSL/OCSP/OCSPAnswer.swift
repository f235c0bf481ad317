internal import COpenSSL

/// Checks the answers of OCSP responders (RFC 6960 §3.2), without network access.
package enum OCSPAnswer {
    /// How far thisUpdate may be ahead, because clocks differ, in seconds.
    static let clockTolerance: Int64 = 300

    /// What an answer in DER proves about a certificate.
    ///
    /// - Parameter now: seconds since 1970.
    package static func check(_ der: [UInt8], for certificate: Certificate, issuedBy issuer: Certificate, at now: Int64) -> OCSPVerdict {
        ERR_clear_error()
        defer { ERR_clear_error() }
        do throws(OCSPFlaw) {
            let answer = try parse(der)
            defer { OCSP_BASICRESP_free(answer) }
            try checkSigner(of: answer, issuer: issuer, at: now)
            return try status(of: certificate, issuedBy: issuer, in: answer, at: now)
        } catch {
            return .unusable(error)
        }
    }

    /// The caller frees the answer.
    private static func parse(_ der: [UInt8]) throws(OCSPFlaw) -> OpaquePointer {
        let (response, consumed) = der.withUnsafeBufferPointer { bytes in
            var cursor = bytes.baseAddress
            let response = d2i_OCSP_RESPONSE(nil, &cursor, bytes.count)
            return (response, cursor.map { $0 - (bytes.baseAddress ?? $0) } ?? 0)
        }
        defer { OCSP_RESPONSE_free(response) }
        guard let response, consumed == der.count else { throw .malformed }
        guard OCSP_response_status(response) == OCSP_RESPONSE_STATUS_SUCCESSFUL else { throw .refused }
        guard let answer = OCSP_response_get1_basic(response) else { throw .malformed }
        return answer
    }

    /// The responder must be the issuer, or have a certificate for this purpose from the issuer itself: the issuer is the only anchor.
    private static func checkSigner(of answer: OpaquePointer, issuer: Certificate, at now: Int64) throws(OCSPFlaw) {
        let store = X509_STORE_new()
        defer { X509_STORE_free(store) }
        let candidates = COpenSSL_sk_X509_new()
        defer { COpenSSL_sk_X509_free(candidates) }
        guard let store, X509_STORE_add_cert(store, issuer.handle) == 1, COpenSSL_sk_X509_push(candidates, issuer.handle) > 0 else {
            throw .responderNotAuthorized
        }
        let parameters = X509_STORE_get0_param(store)
        // The issuer of a leaf is no root.
        X509_VERIFY_PARAM_set_flags(parameters, UInt(X509_V_FLAG_PARTIAL_CHAIN))
        X509_VERIFY_PARAM_set_time(parameters, Int(now))
        X509_VERIFY_PARAM_set_auth_level(parameters, 2)
        // Without NOEXPLICIT an anchor that is marked as trusted for OCSP could sign for every issuer.
        let verified = withExtendedLifetime(issuer) { OCSP_basic_verify(answer, candidates, store, UInt(OCSP_NOEXPLICIT)) }
        guard verified != 1 else { return }
        let reason = ERR_peek_last_error()
        let isForged = ERR_GET_LIB(reason) == ERR_LIB_OCSP && ERR_GET_REASON(reason) == OCSP_R_SIGNATURE_FAILURE
        throw isForged ? .signatureInvalid : .responderNotAuthorized
    }

    private static func status(
        of certificate: Certificate,
        issuedBy issuer: Certificate,
        in answer: OpaquePointer,
        at now: Int64
    ) throws(OCSPFlaw) -> OCSPVerdict {
        let id = OCSP_cert_to_id(nil, certificate.handle, issuer.handle)
        defer { OCSP_CERTID_free(id) }
        var (status, reason): (Int32, Int32) = (-1, -1)
        var (revocationTime, thisUpdate, nextUpdate): (Time, Time, Time) = (nil, nil, nil)
        // Compares the serial number and both hashes of the issuer.
        guard let id, OCSP_resp_find_status(answer, id, &status, &reason, &revocationTime, &thisUpdate, &nextUpdate) == 1 else {
            throw .otherCertificate
        }
        guard let begin = seconds(thisUpdate) else { throw .malformed }
        guard begin <= now + clockTolerance else { throw .notYetValid }
        guard nextUpdate != nil else { throw .unlimited }
        guard let end = seconds(nextUpdate), end >= begin else { throw .malformed }
        guard end >= now else { throw .expired }
        let validity = OCSPValidity(thisUpdate: begin, nextUpdate: end)
        switch status {
        case V_OCSP_CERTSTATUS_GOOD: return .good(validity)
        case V_OCSP_CERTSTATUS_REVOKED:
            guard let time = seconds(revocationTime) else { throw .malformed }
            return .revoked(OCSPRevocation(time: time, reason: .init(number: reason)), validity)
        default: return .unknown
        }
    }

    private typealias Time = UnsafeMutablePointer<ASN1_GENERALIZEDTIME>?

    private static func seconds(_ time: Time) -> Int64? {
        var seconds: Int64 = 0
        return COpenSSL_ASN1_TIME_to_seconds(time, &seconds) == 1 ? seconds : nil
    }
}
