import AppStore
package import AppStoreVerification
package import InboxQueue
package import Interpretation
package import Ledger
import LedgerStore
package import Postgres
import StrictJSON

/// Verifies, interprets and merges claimed events of every source.
package struct EventProcessor: Sendable {
    /// Verifies JWS.
    package let verifier: Verifier
    /// Verifies app receipts.
    package let receipts: ReceiptVerifier
    let legacy: LegacySettings
    private let metrics: VerificationMetrics

    /// - Parameter receipts: nil accepts receipts below Apple's root, of the apps and environments of `verifier`.
    package init(
        verifier: Verifier,
        receipts: ReceiptVerifier? = nil,
        legacy: LegacySettings = .local,
        metrics: VerificationMetrics = VerificationMetrics()
    ) {
        self.verifier = verifier
        self.receipts = receipts ?? ReceiptVerifier(policy: ReceiptPolicy(verifier.policy))
        self.legacy = legacy
        self.metrics = metrics
    }

    /// A claimed event after all work that needs no database.
    package enum Prepared: Sendable {
        /// The event needs no merge.
        case settled(Settlement)
        /// Facts to merge; the labels are for the outcome.
        case facts(EventFacts, OutcomeLabels)
        /// An answer to a call that cannot be used: the call's fallback applies.
        case unusableAnswer(eventID: Int64, Outcome)
    }

    /// Verifies an event. Errors are part of the result.
    package func prepare(_ event: ClaimedEvent) -> Prepared {
        metrics.measure {
            switch event.source {
            case "notification_v2": prepareNotification(event)
            case ClientSubmission.source: prepareClientTransaction(event)
            case AuthenticNotificationV1.source: prepareNotificationV1(event)
            case ClientReceipt.source: prepareClientReceipt(event)
            case VerifyReceiptInterpreter.source: prepareReceiptAnswer(event)
            case UnansweredReceipt.source: prepareUnansweredReceipt(event)
            default: .settled(.outcome(Outcome(.unhandled, reason: "unknown_source")))
            }
        }
    }

    private func prepareNotification(_ event: ClaimedEvent) -> Prepared {
        let jws: ArraySlice<UInt8>
        do throws(NotificationBody.Refusal) {
            jws = try NotificationBody.signedPayload(in: event.body)
        } catch {
            return .rejected(error.rawValue)
        }
        switch verifier.verifyNotification(jws, receivedAt: event.verificationTime) {
        case .invalid(let rejection):
            return .settled(settlement(of: rejection))
        case .valid(let notification):
            let labels = OutcomeLabels(notification)
            guard !notification.containsNUL else { return .rejected("nul_in_payload", labels) }
            return .facts(NotificationInterpreter.facts(of: notification, eventID: event.eventID), labels)
        }
    }

    private func prepareClientTransaction(_ event: ClaimedEvent) -> Prepared {
        let submission: ClientSubmission
        do {
            submission = try ClientSubmission(body: event.body)
        } catch {
            return .rejected(error.rawValue)
        }
        switch verifier.verifyTransaction(Array(submission.signedTransaction.utf8), receivedAt: event.verificationTime) {
        case .invalid(let rejection):
            return .settled(settlement(of: rejection))
        case .valid(let transaction):
            let labels = OutcomeLabels(transaction.value)
            guard !JSONParser.containsNUL(in: transaction.payloadBytes) else { return .rejected("nul_in_payload", labels) }
            if let reason = ClientTransactionInterpreter.refusal(of: transaction, in: submission) {
                return .rejected(reason.rawValue, labels)
            }
            return .facts(
                ClientTransactionInterpreter.facts(
                    of: transaction,
                    in: submission,
                    eventID: event.eventID,
                    receivedAt: event.arrivalTime
                ),
                labels
            )
        }
    }

    private func settlement(of rejection: Rejection) -> Settlement {
        let labels = OutcomeLabels(rejection)
        if rejection.isRetryable {
            return .retry(
                reason: rejection.reason.rawValue,
                error: "\(rejection.reason.rawValue) in \(rejection.location)",
                labels: labels
            )
        }
        return .outcome(Outcome(.rejected, reason: rejection.reason.rawValue, labels: labels))
    }

    /// The contracts that the merge of an event may lock.
    package func subjects(_ prepared: Prepared) -> [String] {
        guard case .facts(let facts, _) = prepared else { return [] }
        return facts.lockedContracts.map { "\($0.environment.rawValue) \($0.id)" }
    }

    /// Merges prepared events in order, and returns the settlement of each.
    package func merge(_ prepared: [Prepared], in transaction: Transaction) async throws -> [Settlement] {
        let fold = BatchFold(
            prepared.compactMap { event in
                if case .facts(let facts, _) = event { facts } else { nil }
            }
        )
        let unusable = prepared.compactMap { event in
            if case .unusableAnswer(let eventID, _) = event { eventID } else { nil }
        }
        // Before the ledger, as all writers lock calls first.
        if !unusable.isEmpty { try await OutboundFallback.fallBack(from: unusable, in: transaction) }
        let merged = try await LedgerMerger.merge(fold, in: transaction)
        return prepared.map { event in
            switch event {
            case .settled(let settlement):
                return settlement
            case .unusableAnswer(_, let outcome):
                return .outcome(outcome)
            case .facts(let facts, let labels):
                let result = fold.result(of: facts, after: merged)
                let doubt = fold.ownershipDoubt(of: facts, after: merged)
                return .outcome(Outcome(Outcome.Result(result), reason: Self.reason(facts, doubt), labels: labels))
            }
        }
    }

    /// For a posted receipt, a doubt about the owner comes first: the post asks for ownership, and the event shows everything else.
    private static func reason(_ facts: EventFacts, _ doubt: OwnershipDoubt?) -> String? {
        // An owner that is unknown now may come with a later event.
        let doubt = facts.awaitedReceipts.isEmpty || doubt == .conflict ? doubt?.rawValue : nil
        return (facts.namingPost?.key.isReceipt == true ? doubt : nil) ?? facts.unhandledReason ?? doubt ?? facts.remark
    }
}

extension EventProcessor.Prepared {
    static func rejected(_ reason: String, _ labels: OutcomeLabels = OutcomeLabels()) -> Self {
        .settled(.outcome(Outcome(.rejected, reason: reason, labels: labels)))
    }
}

extension ClaimedEvent {
    /// The time of this attempt: a signature too far in the future for the last attempt may be acceptable now.
    var verificationTime: Timestamp { Timestamp(millisecondsSince1970: claimedAt.millisecondsSince1970) }

    /// When the event came in, the same for every attempt.
    var arrivalTime: Timestamp { Timestamp(millisecondsSince1970: receivedAt.millisecondsSince1970) }
}

extension Outcome.Result {
    init(_ result: EventResult) {
        self =
            switch result {
            case .applied: .applied
            case .superseded: .superseded
            case .noEffect: .noEffect
            case .duplicate: .duplicate
            case .unhandled: .unhandled
            }
    }
}
