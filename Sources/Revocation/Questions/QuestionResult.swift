import OpenSSL
import Outbox

/// What a question to a responder brought.
enum QuestionResult: Hashable, Sendable {
    /// A usable answer; without a revocation the certificate is good.
    case answered(OCSPValidity, OCSPRevocation?)
    /// Nothing that changes what is known; the code that is stored and shown.
    case unanswered(String)

    /// No responder is named, or none that may be asked.
    static let noAddress = QuestionResult.unanswered("no_address")

    /// - Parameters:
    ///   - leased: the certificate in question.
    ///   - now: seconds since 1970.
    init(
        _ outcome: ExchangeOutcome,
        about leased: LeasedCertificate,
        _ subject: (certificate: Certificate, issuer: Certificate),
        at now: Int64
    ) {
        switch outcome {
        case .failure(let failure): self = .unanswered(failure.rawValue)
        case .answer(let answer) where answer.status != 200: self = .unanswered("status_\(answer.status)")
        case .answer(let answer):
            switch OCSPAnswer.check(answer.body, for: subject.certificate, issuedBy: subject.issuer, at: now) {
            case .good(let validity): self = .answered(validity, nil)
            case .revoked(let revocation, let validity): self = .answered(validity, revocation)
            case .unknown: self = .unanswered("unknown_to_responder")
            case .unusable(let flaw): self = .unanswered(flaw.rawValue)
            }
        }
        // Otherwise an answer of before the revocation could be sent again as long as it holds.
        if case .answered(let validity, _) = self, let known = leased.thisUpdate, validity.thisUpdate < known {
            self = .unanswered("older_than_known")
        }
    }
}
