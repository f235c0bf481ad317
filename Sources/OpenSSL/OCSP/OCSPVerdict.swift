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
