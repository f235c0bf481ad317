package import AppStore
package import AppStoreVerification
package import Ledger

/// Turns a verified transaction that a client posted into the facts that a notification with it would bring. Pure.
package enum ClientTransactionInterpreter {
    /// Why a genuine transaction does not match the submission; nil when it does.
    ///
    /// The transaction must name its environment: nothing else proves it, and Sandbox purchases cost nothing.
    package static func refusal(
        of transaction: SignedValue<JWSTransactionDecodedPayload>,
        in submission: ClientSubmission
    ) -> VerificationReason? {
        guard let environment = transaction.value.environment else { return .environmentMissing }
        guard environment == submission.environment else { return .wrongEnvironment }
        if let scope = submission.bundleIDs {
            guard let bundleID = transaction.value.bundleId else { return .bundleMissing }
            guard scope.contains(bundleID) else { return .wrongBundle }
        }
        return nil
    }

    /// - Parameter receivedAt: when the event came in, which decides who posted a charge first.
    package static func facts(
        of transaction: SignedValue<JWSTransactionDecodedPayload>,
        in submission: ClientSubmission,
        eventID: Int64,
        receivedAt: Timestamp
    ) -> EventFacts {
        var facts = EventFacts(eventID: eventID, environment: submission.environment, notificationUUID: nil)
        facts.add(transaction)
        if let fact = facts.transaction, let user = submission.user {
            facts.posts = [ClientPost(of: fact, user: user, receivedAt: receivedAt, eventID: eventID)]
        }
        return facts
    }
}

extension ClientTransactionInterpreter: EventInterpreter {
    static func facts(of reading: inout EventReading) throws(EventRefusal) -> EventFacts {
        let (event, verifier) = (reading.event, reading.reader.verifier)
        let submission = try reading.decoded { () throws(ClientSubmission.Malformed) in try ClientSubmission(body: event.body) }
        let jws = Array(submission.signedTransaction.utf8)
        let transaction = try reading.accepted(verifier.verifyTransaction(jws, receivedAt: event.readAt))
        if let reason = refusal(of: transaction, in: submission) { throw EventRefusal(reason.rawValue) }
        return facts(of: transaction, in: submission, eventID: event.id, receivedAt: event.receivedAt)
    }
}
