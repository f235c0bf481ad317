package import AppStore
package import AppStoreVerification
package import Ledger

/// Turns a verified transaction that a client posted into the facts that a notification with it would bring. Pure.
package enum ClientTransactionInterpreter {
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
        let (request, jws) = (ClientRequest(submission), ArraySlice(submission.signedTransaction.utf8))
        (reading.request, reading.jws) = (request, jws)
        let transaction = try reading.accepted(
            verifier.verifyTransaction(jws, receivedAt: event.readAt, diagnostics: reading.diagnostics)
        )
        try request.check(transaction.value.environment, transaction.value.bundleId, reading.diagnostics)
        return facts(of: transaction, in: submission, eventID: event.id, receivedAt: event.receivedAt)
    }

    static func meaning(type: String?, subtype: String?) -> String? {
        "a purchase as the client got it: the same facts that a notification with it would bring"
    }
}
