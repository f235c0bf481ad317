import OpenSSL
import Outbox
import Postgres
import ServiceSupport

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

/// When a certificate is asked about again.
struct QuestionSchedule: Sendable {
    var shortest: Duration = .seconds(3600)
    var longest: Duration = .seconds(86_400)
    var retry = Backoff(base: .seconds(300), cap: .seconds(6 * 3600), jitter: 0.5)

    /// The wait from now, at the middle of the answer's validity.
    ///
    /// - Parameters:
    ///   - failures: questions without an answer before this one.
    ///   - now: seconds since 1970.
    func wait(after result: QuestionResult, failures: Int, at now: Int64, using generator: inout some RandomNumberGenerator) -> Duration {
        switch result {
        case .answered(let validity, _):
            let middle = validity.thisUpdate + (validity.nextUpdate - validity.thisUpdate) / 2
            return min(max(Duration.seconds(middle - now), shortest), longest)
        case .noAddress: return longest
        case .unanswered: return retry.delay(afterFailures: failures + 1, using: &generator)
        }
    }
}

/// The OCSP responders that may be asked, of those that certificates name.
package enum ResponderHosts: Sendable {
    /// Apple's, on port 80: all certificates are below Apple's roots.
    case apple
    /// Any that can exist: an operator trusts other roots, too, and these name responders of their own.
    case any

    /// The first address that may be asked. http only: an answer is signed, and TLS would need an answer about the responder's certificate.
    func first(of addresses: [String]) -> String? { addresses.first(where: admits) }

    private func admits(_ address: String) -> Bool {
        let scheme = "http://"
        guard address.utf8.count <= 2048, address.utf8.allSatisfy({ (0x21...0x7e).contains($0) }), address.hasPrefix(scheme) else {
            return false
        }
        let authority = address.dropFirst(scheme.count).prefix { !"/?#".contains($0) }
        guard !authority.isEmpty, !authority.contains("@"), !authority.contains("\\") else { return false }
        switch self {
        case .apple: return authority.lowercased().hasSuffix(".apple.com")
        // No such name exists (RFC 6761 §6.4): simulated certificates have them.
        case .any: return !authority.prefix { $0 != ":" }.lowercased().hasSuffix(".invalid")
        }
    }
}
