import AppStore
package import Interpretation
package import Ledger
import LedgerStore
package import Metrics
package import Postgres

/// Reads claimed events, and merges what they say.
package struct EventProcessor: Sendable {
    package let reader: EventReader
    private let metrics: VerificationMetrics

    package init(_ reader: EventReader, metrics: VerificationMetrics = VerificationMetrics()) {
        self.reader = reader
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
            let event = InboxEvent(event)
            return Prepared(reader.read(event), of: event)
        }
    }

    /// The contracts that the merge of an event may lock.
    package func subjects(_ prepared: Prepared) -> [String] {
        guard case .facts(let facts, _) = prepared else { return [] }
        return facts.lockedContracts.map { "\($0.environment.rawValue) \($0.id)" }
    }

    /// What a prepared event says of itself.
    package func labels(_ prepared: Prepared) -> OutcomeLabels {
        switch prepared {
        case .settled(.outcome(let outcome)), .unusableAnswer(_, let outcome): outcome.labels
        case .settled(.retry(_, _, let labels)), .facts(_, let labels): labels
        }
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
                let remark = facts.remark ?? (fold.takesOver(facts, after: merged) ? "former_owner_forgotten" : nil)
                return .outcome(Outcome(Outcome.Result(result), reason: Self.reason(facts, doubt, remark), labels: labels))
            }
        }
    }

    /// For a posted receipt, a doubt about the owner comes first: the post asks for ownership, and the event shows everything else.
    private static func reason(_ facts: EventFacts, _ doubt: OwnershipDoubt?, _ remark: String?) -> String? {
        // An owner that is unknown now may come with a later event.
        let doubt = facts.awaitedReceipts.isEmpty || doubt == .conflict ? doubt?.rawValue : nil
        return (facts.namingPost?.key.isReceipt == true ? doubt : nil) ?? facts.unhandledReason ?? doubt ?? remark
    }
}

extension EventProcessor.Prepared {
    package init(_ reading: EventReading, of event: InboxEvent) {
        let labels = OutcomeLabels(reading.labels)
        switch reading.result {
        case .success(let facts):
            self = .facts(facts, labels)
        case .failure(let refusal):
            let result: Outcome.Result
            switch refusal.kind {
            case .rejected: result = .rejected
            case .unhandled: result = .unhandled
            case .retryable(let error):
                self = .settled(.retry(reason: refusal.reason, error: error, labels: labels))
                return
            }
            let outcome = Outcome(result, reason: refusal.reason, labels: labels)
            self = event.source == .verifyReceipt ? .unusableAnswer(eventID: event.id, outcome) : .settled(.outcome(outcome))
        }
    }
}

extension InboxEvent {
    package init(_ event: ClaimedEvent) {
        self.init(
            id: event.eventID,
            source: EventSource(rawValue: event.source),
            body: event.body,
            receivedAt: Timestamp(millisecondsSince1970: event.receivedAt.millisecondsSince1970),
            readAt: Timestamp(millisecondsSince1970: event.claimedAt.millisecondsSince1970)
        )
    }
}

extension OutcomeLabels {
    init(_ labels: EventLabels) {
        self.init()
        notificationType = labels.notificationType
        subtype = labels.subtype
        notificationUUID = labels.notificationUUID
        environment = labels.environment
        bundleID = labels.bundleID
        transactionID = labels.transactionID
        originalTransactionID = labels.originalTransactionID
        oddMembers = labels.oddMembers
        unknownValues = labels.unknownValues
    }
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

/// Measures the duration of verification.
package struct VerificationMetrics: Sendable {
    private let duration: Timer

    package init(factory: any MetricsFactory = MetricsSystem.factory) {
        duration = Timer(label: "appstore_inbox_worker_verification_seconds", factory: factory)
    }

    /// Measures the preparation of one event, without the database.
    fileprivate func measure<Value>(_ verification: () -> Value) -> Value {
        let start = ContinuousClock.now
        defer { duration.record(duration: .now - start) }
        return verification()
    }
}
