import AppStore
package import Ledger
package import Postgres

/// Merges a batch's facts into the books.
package enum BookKeeper {
    /// Writes everything that the fold holds, brings orders and contracts up to date, and says what was new. All of it in the given
    /// transaction and in one round trip, two when an effect was there before; each statement sorts its rows by key, and the order of
    /// tables is the same for every batch, so that two batches do not wait for each other in a circle.
    package static func merge(_ fold: BatchFold, in transaction: Transaction) async throws -> MergeAnswer {
        var pipeline = MergePipeline()
        // Before the books, in the order in which appstore.forget locks them.
        pipeline.add(fold.events.flatMap(\.calls), OutboundCallMerge.statement)
        addRegisters(of: fold, to: &pipeline)
        for environment in fold.environments {
            pipeline.add(derivation(of: fold, in: environment))
        }
        addEffects(of: fold, to: &pipeline)
        addClaims(of: fold, to: &pipeline)
        pipeline.add(fold.severalContracts, EventContractMerge.statement)
        var answer = try await pipeline.run(in: transaction)
        // Without an answer about it nobody would know whether it is a duplicate, or that it is not there.
        if let key = fold.notifications.keys.first(where: { answer.firstEvents[$0] == nil }) { throw UnansweredNotification(key: key) }
        var late = MergePipeline()
        addOrigins(of: fold, beyond: answer, to: &late)
        try await late.run(in: transaction, into: &answer)
        return answer
    }

    private static func addRegisters(of fold: BatchFold, to pipeline: inout MergePipeline) {
        let notifications = fold.notifications.map { (key: $0.key, eventID: $0.value) }
        pipeline.add(notifications, NotificationMerge.statement) { answer, row in
            answer.firstEvents[try row.key("environment", "notification_uuid")] = try row.decode("first_event_id")
        }
        // Before the charges: who has the register of a contract locked is the only one to derive its books, which may move charges that are
        // not in this batch.
        pipeline.add(Array(fold.subscriptions.values), SubscriptionMerge.statement) { answer, row in
            answer.movedSubscriptions.insert(try row.key("environment", "original_transaction_id"))
        }
        pipeline.add(Array(fold.legacyRenewals.values), LegacyRenewalMerge.statement) { answer, row in
            let contract = try row.key("environment", "original_transaction_id")
            answer.movedLegacyRenewals.insert(LegacyRenewalFact.Key(contract: contract, bundleID: try row.decode("bundle_id")))
        }
        pipeline.add(Array(fold.transactions.values), TransactionMerge.statement) { answer, row in
            let key = try row.key("environment", "transaction_id")
            // A row also moves when only its first sight does; that alone is nothing new.
            let register = fold.transactions[key]
            if let hash = register?.signed?.version.hash, try row.decode("payload_hash", as: [UInt8]?.self) == hash {
                answer.movedTransactions.insert(key)
            }
            if let hash = register?.receipt?.latest.version.hash, try row.decode("receipt_hash", as: [UInt8]?.self) == hash {
                answer.movedReceipts.insert(key)
            }
        }
        pipeline.add(Array(fold.submissions.values), SubmissionMerge.statement)
        pipeline.add(Array(fold.receiptSubmissions.values), ReceiptSubmissionMerge.statement)
        pipeline.add(Array(fold.refundStatements.values), RefundStatementMerge.statement)
    }

    private static func derivation(of fold: BatchFold, in environment: AppStoreEnvironment) -> Statement {
        func ids(_ keys: some Sequence<LedgerKey>) -> Set<String> {
            Set(keys.lazy.filter { $0.environment == environment }.map(\.id))
        }
        let submitted =
            fold.submissions.values.filter { $0.key.charge.environment == environment }.map(\.originalTransactionID)
            + ids(fold.receiptSubmissions.keys.map(\.contract))
        let transactions = ids(fold.transactions.keys).sorted()
        let renewals = ids(fold.subscriptions.keys).union(ids(fold.legacyRenewals.keys.map(\.contract))).sorted()
        return """
            SELECT FROM appstore.derive_books(\(environment.rawValue), \(transactions), \(Set(submitted).sorted()), '{}', \(renewals))
            """
    }

    private static func addEffects(of fold: BatchFold, to pipeline: inout MergePipeline) {
        pipeline.add(Array(fold.effects.values), EffectMerge.insert) { answer, row in
            let key = try row.effectKey
            answer.effectEvents[key] = fold.effects[key]?.eventID
        }
    }

    /// Asks whose the charges are that somebody says are his, and who said so first.
    private static func addClaims(of fold: BatchFold, to pipeline: inout MergePipeline) {
        pipeline.add(Array(fold.claimedCharges), SubmissionMerge.owners) { answer, row in
            let key = Submission.Key(charge: try row.key("environment", "transaction_id"), user: try row.decode("user_id"))
            answer.submissions[key] = MergeAnswer.SubmittedCharge(
                owner: try row.decode("owner"),
                firstEventID: try row.decode("first_event_id")
            )
        }
        pipeline.add(Array(fold.receiptSubmissions.keys), ReceiptSubmissionMerge.firsts) { answer, row in
            let contract = try row.key("environment", "original_transaction_id")
            let key = ReceiptSubmission.Key(
                contract: contract,
                user: try row.decode("user_id"),
                transactionID: try row.decode("transaction_id")
            )
            answer.receiptSubmissions[key] = try row.decode("first_event_id")
        }
    }

    /// Asks which event brought each effect that was there before.
    private static func addOrigins(of fold: BatchFold, beyond answer: MergeAnswer, to pipeline: inout MergePipeline) {
        pipeline.add(fold.effects.keys.filter { answer.effectEvents[$0] == nil }, EffectMerge.origins) { answer, row in
            answer.effectEvents[try row.effectKey] = try row.decode("event_id")
        }
    }
}

/// A notification that the books were to note, and that is not among those that they say they have.
struct UnansweredNotification: Error, CustomStringConvertible {
    let key: LedgerKey

    var description: String { "notification \(key.id) of \(key.environment.rawValue) is not in notifications_seen after its merge" }
}

extension Row {
    fileprivate var effectKey: EffectKey {
        get throws {
            EffectKey(
                environment: AppStoreEnvironment(rawValue: try decode("environment")),
                kind: EffectKind(rawValue: try decode("kind")),
                subject: try decode("effect_key")
            )
        }
    }
}

extension BatchFold {
    /// The environments in which something may have moved that orders and contracts depend on, in a fixed order.
    fileprivate var environments: [AppStoreEnvironment] {
        let charges = Array(transactions.keys) + submissions.keys.map(\.charge)
        let contracts = Array(subscriptions.keys) + legacyRenewals.keys.map(\.contract) + receiptSubmissions.keys.map(\.contract)
        return Set((charges + contracts).map(\.environment)).sorted { $0.rawValue < $1.rawValue }
    }

    /// The contracts of events that are about more than one.
    fileprivate var severalContracts: [(contract: LedgerKey, eventID: Int64)] {
        events.lazy.filter { !$0.receipts.isEmpty || !$0.awaitedReceipts.isEmpty || !$0.legacyRenewals.isEmpty }.flatMap { event in
            let contracts = event.contracts
            return contracts.count > 1 ? contracts.map { (contract: $0, eventID: event.eventID) } : []
        }
    }
}
