import AppStore
package import Ledger
package import Postgres

/// Merges a batch's facts into the books.
package enum BookKeeper {
    /// Writes everything that the fold holds, brings orders and contracts up to date, and says what was new. All of it in the given
    /// transaction and in one round trip, two when an effect was there before; each statement sorts its rows by key, and the order of
    /// tables is the same for every batch, so that two batches cannot wait for each other.
    package static func merge(_ fold: BatchFold, in transaction: Transaction) async throws -> MergeAnswer {
        var pipeline = MergePipeline()
        addRegisters(of: fold, to: &pipeline)
        for environment in fold.environments {
            pipeline.add(derivation(of: fold, in: environment))
        }
        addEffects(of: fold, to: &pipeline)
        pipeline.add(Array(fold.submissions.keys), SubmissionMerge.owners) { answer, row in
            let key = Submission.Key(charge: try row.key("environment", "transaction_id"), user: try row.decode("user_id"))
            answer.submissions[key] = MergeAnswer.SubmittedCharge(
                owner: try row.decode("owner"),
                firstEventID: try row.decode("first_event_id")
            )
        }
        var answer = try await pipeline.run(in: transaction)
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
        pipeline.add(Array(fold.transactions.values), TransactionMerge.statement) { answer, row in
            let key = try row.key("environment", "transaction_id")
            // A row also moves when only its first sight does; that alone is nothing new.
            if try row.decode("payload_hash", as: [UInt8].self) == fold.transactions[key]?.latest.version.hash {
                answer.movedTransactions.insert(key)
            }
        }
        pipeline.add(Array(fold.subscriptions.values), SubscriptionMerge.statement) { answer, row in
            answer.movedSubscriptions.insert(try row.key("environment", "original_transaction_id"))
        }
        pipeline.add(Array(fold.submissions.values), SubmissionMerge.statement)
        pipeline.add(Array(fold.refundStatements.values), RefundStatementMerge.statement)
    }

    private static func derivation(of fold: BatchFold, in environment: AppStoreEnvironment) -> Statement {
        func ids(_ keys: some Sequence<LedgerKey>) -> Set<String> {
            Set(keys.lazy.filter { $0.environment == environment }.map(\.id))
        }
        let submitted = fold.submissions.values.filter { $0.key.charge.environment == environment }.map(\.originalTransactionID)
        let transactions = ids(fold.transactions.keys).sorted()
        let renewals = ids(fold.subscriptions.keys).sorted()
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

    /// Asks which event brought each effect that was there before.
    private static func addOrigins(of fold: BatchFold, beyond answer: MergeAnswer, to pipeline: inout MergePipeline) {
        pipeline.add(fold.effects.keys.filter { answer.effectEvents[$0] == nil }, EffectMerge.origins) { answer, row in
            answer.effectEvents[try row.effectKey] = try row.decode("event_id")
        }
    }
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
        return Set((charges + Array(subscriptions.keys)).map(\.environment)).sorted { $0.rawValue < $1.rawValue }
    }
}
