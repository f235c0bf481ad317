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
