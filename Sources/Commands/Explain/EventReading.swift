import AppStore
import AppStoreVerification
import Handlers
import Inbox
import Ledger
import Postgres
import Worker

/// What the program makes of an event's body, by the settings and the code of now; its outcome may be of another day.
struct EventReading {
    /// What a client asked for when it posted the transaction.
    private(set) var submission: ClientSubmission?
    /// Empty when there is no JWS in the body.
    private(set) var parts: [SignedPart] = []
    /// Nil when there is no JWS in the body.
    private(set) var trace: VerificationTrace?
    /// What the worker would do with it, by the very code that the worker runs.
    let prepared: EventProcessor.Prepared?

    /// The facts, unless the worker would not come that far.
    var facts: EventFacts? {
        if case .facts(let facts, _)? = prepared { facts } else { nil }
    }

    /// Reads an event as if it were claimed at this moment.
    init(_ event: ClaimedEvent, verifier: Verifier) {
        prepared = EventProcessor(verifier: verifier).prepare(event)
        let now = Timestamp(millisecondsSince1970: event.claimedAt.millisecondsSince1970)
        if event.source == ClientSubmission.source {
            do {
                let submission = try ClientSubmission(body: event.body)
                let jws = Array(submission.signedTransaction.utf8)
                self.submission = submission
                parts = SignedPart.all(in: jws[...])
                trace = Self.trace(of: submission, verifier.verifyTransaction(jws, receivedAt: now))
            } catch {
                // No submission: the worker's answer says why.
            }
        } else if event.source == "notification_v2" {
            do {
                let jws = try NotificationBody.signedPayload(in: event.body)
                parts = SignedPart.all(in: jws)
                trace = VerificationTrace(verifier.verifyNotification(jws, receivedAt: now))
            } catch {
                // No notification: the worker's answer says why.
            }
        }
    }

    private static func trace(
        of submission: ClientSubmission,
        _ verdict: Verdict<SignedValue<JWSTransactionDecodedPayload>>
    ) -> VerificationTrace {
        guard case .valid(let transaction) = verdict else { return VerificationTrace(verdict, refusal: nil) }
        return VerificationTrace(verdict, refusal: ClientTransactionInterpreter.refusal(of: transaction, in: submission))
    }
}
