import FoundationEssentials
import OpenSSL
import Outbox
import StoreSimulator
import Synchronization

/// An OCSP responder for the leaf and the intermediate of an authority.
final class MakeBelieveResponder: Sendable {
    /// What it answers about a certificate.
    struct Answer: Sendable {
        var status = OCSPAnswerBuilder.Status.good
        /// Seconds before and after now.
        var age: Int64 = 60
        var lifetime: Int64 = 4 * 3600
        var hasNextUpdate = true
        var signer = TestAuthority.OCSPSigner.issuer
        /// Instead of all this.
        var outcome: ExchangeOutcome?

        init(_ status: OCSPAnswerBuilder.Status = .good) {
            self.status = status
        }

        /// The answer is about that outcome only.
        static func failing(_ outcome: ExchangeOutcome) -> Answer {
            var answer = Answer()
            answer.outcome = outcome
            return answer
        }
    }

    private let authority: TestAuthority
    private let answers = Mutex<[Certificate: Answer]>([:])
    private let requests = Mutex<[OutboundRequest]>([])

    init(_ authority: TestAuthority) {
        self.authority = authority
    }

    /// Every request so far.
    var asked: [OutboundRequest] { requests.withLock { $0 } }

    func set(_ answer: Answer, about certificate: Certificate) {
        answers.withLock { $0[certificate] = answer }
    }

    static var now: Int64 { Int64(Date().timeIntervalSince1970) }

    var exchange: Exchange {
        Exchange { [self] request, _ in
            requests.withLock { $0.append(request) }
            return outcome(of: request)
        }
    }

    /// The request of a certificate decides which one it is about.
    func outcome(of request: OutboundRequest) -> ExchangeOutcome {
        do {
            for (certificate, issuer) in zip(authority.chain, authority.chain.dropFirst()) {
                guard try OCSPRequest(for: certificate, issuedBy: issuer).der == request.body else { continue }
                let answer = answers.withLock { $0[certificate] } ?? Answer()
                if let outcome = answer.outcome { return outcome }
                let body = try authority.ocspAnswer(
                    about: certificate,
                    answer.status,
                    thisUpdate: Self.now - answer.age,
                    nextUpdate: answer.hasNextUpdate ? Self.now + answer.lifetime : nil,
                    by: answer.signer
                )
                return .answer(HTTPAnswer(status: 200, body: body))
            }
            return .answer(HTTPAnswer(status: 404))
        } catch {
            return .answer(HTTPAnswer(status: 500))
        }
    }
}
