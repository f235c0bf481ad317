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

/// What an OCSP answer proves about a certificate.
package enum OCSPVerdict: Hashable, Sendable {
    case good(OCSPValidity)
    case revoked(OCSPRevocation, OCSPValidity)
    /// The responder does not know the certificate.
    case unknown
    /// The answer proves nothing.
    case unusable(OCSPFlaw)
}

/// When a responder's statement holds, in seconds since 1970.
package struct OCSPValidity: Hashable, Sendable {
    package var thisUpdate: Int64
    package var nextUpdate: Int64

    package init(thisUpdate: Int64, nextUpdate: Int64) {
        self.thisUpdate = thisUpdate
        self.nextUpdate = nextUpdate
    }
}

/// A revocation as its issuer states it.
package struct OCSPRevocation: Hashable, Sendable {
    /// Why a certificate was revoked (RFC 5280 §5.3.1); the raw value is the code that is stored.
    package enum Reason: String, CaseIterable, Sendable {
        case unspecified
        case keyCompromise = "key_compromise"
        case caCompromise = "ca_compromise"
        case affiliationChanged = "affiliation_changed"
        case superseded
        case cessationOfOperation = "cessation_of_operation"
        case certificateHold = "certificate_hold"
        case removeFromCRL = "remove_from_crl"
        case privilegeWithdrawn = "privilege_withdrawn"
        case aaCompromise = "aa_compromise"

        /// CRLReason, where 7 is unused.
        package var number: Int32 {
            let index = Int32(clamping: Self.allCases.firstIndex(of: self) ?? 0)
            return index < 7 ? index : index + 1
        }

        /// An absent reason (-1) and an unknown one are unspecified.
        init(number: Int32) {
            self = Self.allCases.first { $0.number == number } ?? .unspecified
        }
    }

    /// Seconds since 1970.
    package var time: Int64
    package var reason: Reason

    package init(time: Int64, reason: Reason) {
        self.time = time
        self.reason = reason
    }
}

/// Why an OCSP answer proves nothing; the raw value is the code that is stored and shown.
package enum OCSPFlaw: String, Error, CaseIterable, Sendable {
    /// Not one OCSPResponse in DER, or of another type than basic.
    case malformed = "malformed_answer"
    /// The responder gives no answer: it is to be asked later, or it does not answer such questions.
    case refused = "responder_refuses"
    /// An answer about another certificate or another issuer.
    case otherCertificate = "other_certificate"
    /// The signature is not the responder's.
    case signatureInvalid = "answer_signature_invalid"
    /// The responder is neither the issuer, nor one that the issuer has authorized (RFC 6960 §4.2.2.2).
    case responderNotAuthorized = "responder_not_authorized"
    /// thisUpdate is more than five minutes ahead.
    case notYetValid = "answer_not_yet_valid"
    /// nextUpdate has passed.
    case expired = "answer_expired"
    /// There is no nextUpdate, so the answer would hold for ever.
    case unlimited = "answer_without_next_update"
}
