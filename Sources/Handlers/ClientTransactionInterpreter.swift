package import AppStore
package import AppStoreVerification
package import Ledger

/// Turns a verified transaction that a client posted into facts. Pure, and the same facts that a notification with it would bring.
package enum ClientTransactionInterpreter {
    /// Why a genuine transaction is not what was asked for; nil when it is.
    ///
    /// It must say itself which environment it is of: nothing else vouches for that, and Sandbox purchases cost nothing.
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
        facts.take(transaction)
        if let fact = facts.transaction, let user = submission.user {
            facts.posts = [ClientPost(of: fact, user: user, receivedAt: receivedAt, eventID: eventID)]
        }
        return facts
    }
}
