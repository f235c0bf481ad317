import AppStore
package import Ledger
package import Postgres

/// Merges a batch's facts into the books.
package enum BookKeeper {
    /// Writes everything that the fold holds, brings orders and contracts up to date, and says what was new. All of it in the given
    /// transaction and in one round trip; the same order of tables for every batch, so that two batches cannot wait for each other.
    package static func merge(_ fold: BatchFold, in transaction: Transaction) async throws -> MergeAnswer {
        var pipeline = MergePipeline()
        addRegisters(of: fold, to: &pipeline)
        for environment in fold.environments {
            pipeline.add(derivation(of: fold, in: environment))
        }
        addEffects(of: fold, to: &pipeline)
        pipeline.add(fold.submissions.keys.sorted(), SubmissionMerge.owners) { answer, row in
            let key = Submission.Key(charge: try row.key("environment", "transaction_id"), user: try row.decode("user_id"))
            answer.submissions[key] = MergeAnswer.SubmittedCharge(
                owner: try row.decode("owner"),
                firstEventID: try row.decode("first_event_id")
            )
        }
        return try await pipeline.run(in: transaction)
    }

    private static func addRegisters(of fold: BatchFold, to pipeline: inout MergePipeline) {
        let notifications = fold.notifications.sorted { $0.key < $1.key }.map { (key: $0.key, eventID: $0.value) }
        pipeline.add(notifications, NotificationMerge.statement) { answer, row in
            answer.firstEvents[try row.key("environment", "notification_uuid")] = try row.decode("first_event_id")
        }
        let transactions = fold.transactions.values.sorted { $0.latest.key < $1.latest.key }
        pipeline.add(transactions, TransactionMerge.statement) { answer, row in
            let key = try row.key("environment", "transaction_id")
            // A row also moves when only its first sight does; that alone is nothing new.
            if try row.decode("payload_hash", as: [UInt8].self) == fold.transactions[key]?.latest.version.hash {
                answer.movedTransactions.insert(key)
            }
        }
        pipeline.add(fold.subscriptions.values.sorted { $0.key < $1.key }, SubscriptionMerge.statement) { answer, row in
            answer.movedSubscriptions.insert(try row.key("environment", "original_transaction_id"))
        }
        pipeline.add(fold.submissions.values.sorted { $0.key < $1.key }, SubmissionMerge.statement)
        pipeline.add(fold.refundStatements.values.sorted { $0.key < $1.key }, RefundStatementMerge.statement)
    }

    private static func derivation(of fold: BatchFold, in environment: AppStoreEnvironment) -> Statement {
        func ids(_ keys: some Sequence<LedgerKey>) -> Set<String> {
            Set(keys.lazy.filter { $0.environment == environment }.map(\.id))
        }
        let submitted = fold.submissions.values.filter { $0.key.charge.environment == environment }.map(\.originalTransactionID)
        let transactions = ids(fold.transactions.keys).sorted()
        let contracts = ids(fold.subscriptions.keys).union(submitted).sorted()
        return "SELECT FROM appstore.derive_books(\(environment.rawValue), \(transactions), \(contracts))"
    }

    private static func addEffects(of fold: BatchFold, to pipeline: inout MergePipeline) {
        let effects = fold.effects.values.sorted { $0.effect.key < $1.effect.key }
        pipeline.add(effects, EffectMerge.insert)
        pipeline.add(effects.map(\.effect.key), EffectMerge.origins) { answer, row in
            let key = EffectKey(
                environment: AppStoreEnvironment(rawValue: try row.decode("environment")),
                kind: EffectKind(rawValue: try row.decode("kind")),
                subject: try row.decode("effect_key")
            )
            answer.effectEvents[key] = try row.decode("event_id")
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
