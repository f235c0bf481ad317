import AppStore
import FoundationEssentials
package import Ledger
package import Postgres
import SQL

/// Merges a batch's facts into the books.
package enum BookKeeper {
    /// Writes everything that the fold holds, derives orders and contracts, and says what was new. All of it in the given transaction and
    /// in one round trip, two when a notification or an effect was there before. Each statement sorts its rows by key, and the order of
    /// tables is the same for every batch, so that two batches do not deadlock.
    package static func merge(_ fold: BatchFold, in transaction: Transaction) async throws -> MergeAnswer {
        var pipeline = MergePipeline()
        // Before the ledger, in the order in which appstore.forget locks them.
        pipeline.add(fold.events.flatMap(\.calls), OutboundCallMerge.statement)
        pipeline.add(fold.contractsToLock, ContractMerge.lock)
        addRegisters(of: fold, to: &pipeline)
        for environment in fold.environments {
            addApplication(of: fold, in: environment, to: &pipeline)
        }
        addPosts(of: fold, to: &pipeline)
        pipeline.add(fold.severalContracts, EventContractMerge.statement)
        var answer = try await pipeline.run(in: transaction)
        var late = MergePipeline()
        addFirstEvents(of: fold, beyond: answer, to: &late)
        addOrigins(of: fold, beyond: answer, to: &late)
        try await late.run(in: transaction, into: &answer)
        // An insert that hits a row of a transaction which ends meanwhile returns nothing; the second look sees the row. If it does not,
        // expire_notifications has just deleted it: the batch is run again, and records the notification anew.
        if let key = fold.notifications.keys.first(where: { answer.firstEvents[$0] == nil }) { throw UnansweredNotification(key: key) }
        return answer
    }

    private static func addRegisters(of fold: BatchFold, to pipeline: inout MergePipeline) {
        let notifications = fold.notifications.map { (key: $0.key, eventID: $0.value) }
        pipeline.add(notifications, NotificationMerge.insert, take: takeFirstEvent)
        // Before the transactions: the lock on a contract guards its derivation, which may write transactions that are not in this batch.
        pipeline.add(Array(fold.subscriptions.values), ContractMerge.merge) { answer, row in
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
        pipeline.add(Array(fold.posts.values), ClientPostMerge.statement)
        addRefundStatements(of: fold, to: &pipeline)
    }

    /// Merges what Apple asked and decided about refunds, and derives what it waits for; Production first, as all writers.
    private static func addRefundStatements(of fold: BatchFold, to pipeline: inout MergePipeline) {
        let statements = Array(fold.refundStatements.values)
        pipeline.add(statements, RefundStatementMerge.statement) { answer, row in
            answer.movedRefundStatements.insert(try row.notificationKey)
        }
        let transactions = Dictionary(grouping: statements, by: \.key.environment).mapValues { Set($0.map(\.transactionID)).sorted() }
        for (environment, ids) in transactions.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            pipeline.add(RefundStatementMerge.derivation(of: ids, in: environment))
        }
    }

    /// Derives what changed in an environment, and records its effects.
    private static func addApplication(of fold: BatchFold, in environment: AppStoreEnvironment, to pipeline: inout MergePipeline) {
        let application = BatchApplication(of: fold, in: environment)
        let keys = Dictionary(application.effects.keys.map { ($0.id, $0) }) { one, _ in one }
        pipeline.add(application.statement) { answer, row in
            guard let key = keys[try row.decode("effect_id")] else { return }
            answer.effectEvents[key] = fold.effects[key]?.eventID
        }
    }

    /// Asks which event brought each post first, and who owns the transaction that it names.
    private static func addPosts(of fold: BatchFold, to pipeline: inout MergePipeline) {
        pipeline.add(Array(fold.posts.keys), ClientPostMerge.find) { answer, row in
            let key = ClientPost.Key(
                contract: try row.key("environment", "original_transaction_id"),
                user: try row.decode("user_id"),
                isReceipt: try row.decode("is_receipt"),
                transactionID: try row.decode("transaction_id")
            )
            answer.posts[key] = MergeAnswer.KnownPost(owner: try row.decode("owner"), firstEventID: try row.decode("first_event_id"))
        }
    }

    /// Asks which event brought each notification that was there before.
    private static func addFirstEvents(of fold: BatchFold, beyond answer: MergeAnswer, to pipeline: inout MergePipeline) {
        let known = fold.notifications.keys.filter { answer.firstEvents[$0] == nil }
        pipeline.add(known, NotificationMerge.firsts, take: takeFirstEvent)
    }

    private static func takeFirstEvent(_ answer: inout MergeAnswer, _ row: Row) throws {
        answer.firstEvents[try row.notificationKey] = try row.decode("first_event_id")
    }

    /// Asks which event brought each effect that was there before.
    private static func addOrigins(of fold: BatchFold, beyond answer: MergeAnswer, to pipeline: inout MergePipeline) {
        let known = fold.effects.keys.filter { answer.effectEvents[$0] == nil }
        let keys = Dictionary(known.map { ($0.id, $0) }) { one, _ in one }
        pipeline.add(Array(keys.keys), { Statement(.findEffectEvents, ["effect_ids": $0]) }) { answer, row in
            guard let key = keys[try row.decode("effect_id")] else { return }
            answer.effectEvents[key] = try row.decode("event_id")
        }
    }
}

/// A notification that a batch was to record and that the database does not have after it.
struct UnansweredNotification: Error, CustomStringConvertible {
    let key: NotificationKey

    var description: String { "notification \(key.uuid) of \(key.environment.rawValue) is not in seen_notifications after its merge" }
}

extension BatchFold {
    /// The environments in which something changed that is to be derived, or has an effect; Production first, as all writers.
    fileprivate var environments: [AppStoreEnvironment] {
        let contracts = Array(subscriptions.keys) + legacyRenewals.keys.map(\.contract) + posts.keys.map(\.contract)
        return Set((transactions.keys + contracts).map(\.environment) + effects.keys.map(\.environment)).sorted {
            $0.rawValue < $1.rawValue
        }
    }

    /// All contracts that the batch may write, where the merge of renewal infos would not lock them all; else none.
    fileprivate var contractsToLock: [LedgerKey] {
        let contracts = events.reduce(into: Set<LedgerKey>()) { $0.formUnion($1.lockedContracts) }
        return contracts.count > subscriptions.count ? Array(contracts) : []
    }

    /// The contracts of events that are about more than one.
    fileprivate var severalContracts: [(contract: LedgerKey, eventID: Int64)] {
        events.lazy.filter { !$0.receipts.isEmpty || !$0.awaitedReceipts.isEmpty || !$0.legacyRenewals.isEmpty }.flatMap { event in
            let contracts = event.contracts
            return contracts.count > 1 ? contracts.map { (contract: $0, eventID: event.eventID) } : []
        }
    }
}
