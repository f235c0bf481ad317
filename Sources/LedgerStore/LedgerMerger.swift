import AppStore
package import Ledger
package import Postgres
import SQL

/// Merges a batch's facts into the ledger.
package enum LedgerMerger {
    /// Writes everything in the fold, derives orders and contracts, and returns what was new.
    ///
    /// It takes one round trip, two when a notification or an effect already existed. Each statement sorts its rows by key, and every batch
    /// writes the tables in the one order of sql/README.md, so that two batches do not deadlock.
    package static func merge(_ fold: BatchFold, in transaction: Transaction) async throws -> MergeResult {
        var pipeline = MergePipeline()
        // Calls before the ledger: the lock order of appstore.forget.
        pipeline.add(fold.events.flatMap(\.calls), OutboundCallMerge.statement)
        addRegisters(of: fold, to: &pipeline)
        let applications = fold.environments.map { BatchApplication(of: fold, in: $0) }
        for application in applications { addEffects(application.statement, of: application, in: fold, to: &pipeline) }
        addRefundStatements(of: fold, to: &pipeline)
        for application in applications { addRefunds(application, of: fold, to: &pipeline) }
        addPosts(of: fold, to: &pipeline)
        pipeline.add(fold.eventContracts, EventContractMerge.statement)
        var merged = try await pipeline.run(in: transaction)
        var lookups = MergePipeline()
        addFirstEvents(of: fold, missingFrom: merged, to: &lookups)
        addEffectEvents(of: fold, missingFrom: merged, to: &lookups)
        try await lookups.run(in: transaction, into: &merged)
        // An insert that conflicts with a concurrent transaction returns no row, but the later query sees that transaction's row. If it does
        // not, expire_notifications has just deleted the row: the batch runs again, and records the notification anew.
        if let key = fold.notifications.keys.first(where: { merged.firstEvents[$0] == nil }) { throw MissingNotification(key: key) }
        return merged
    }

    private static func addRegisters(of fold: BatchFold, to pipeline: inout MergePipeline) {
        // All contracts of the batch before any other row: the lock on a contract guards its derivation, which may write transactions that are
        // not in this batch.
        let contracts = fold.lockedContracts.map { (key: $0, fact: fold.subscriptions[$0]) }
        pipeline.add(contracts, ContractMerge.statement) { merged, row in
            let key = try row.key("environment", "original_transaction_id")
            if fold.subscriptions[key] != nil { merged.movedSubscriptions.insert(key) }
        }
        let notifications = fold.notifications.map { (key: $0.key, eventID: $0.value) }
        pipeline.add(notifications, NotificationMerge.insert, read: readFirstEvent)
        pipeline.add(Array(fold.legacyRenewals.values), V1RenewalMerge.statement) { merged, row in
            let contract = try row.key("environment", "original_transaction_id")
            merged.movedLegacyRenewals.insert(V1RenewalFact.Key(contract: contract, bundleID: try row.decode("bundle_id")))
        }
        pipeline.add(Array(fold.transactions.values), TransactionMerge.statement) { merged, row in
            let key = try row.key("environment", "transaction_id")
            // A row also changes when only its first date or token does; this alone does not count as new.
            let register = fold.transactions[key]
            if let hash = register?.signed?.version.hash, try row.decode("payload_hash", as: [UInt8]?.self) == hash {
                merged.movedTransactions.insert(key)
            }
            if let hash = register?.receipt?.latest.version.hash, try row.decode("receipt_hash", as: [UInt8]?.self) == hash {
                merged.movedReceipts.insert(key)
            }
        }
        pipeline.add(Array(fold.postedTypes), PostedTypeMerge.statement)
        pipeline.add(Array(fold.typedByPosts), PostedTypeMerge.application)
        pipeline.add(Array(fold.posts.values), ClientPostMerge.statement)
        addStatements(of: fold, to: &pipeline)
    }

    /// Merges registers of which an event has one statement, and a batch few.
    private static func addStatements(of fold: BatchFold, to pipeline: inout MergePipeline) {
        let apps = fold.events.compactMap { event in event.appTransaction.map { (fact: $0, eventID: event.eventID) } }
        pipeline.add(apps, AppTransactionMerge.statement) { merged, row in
            let eventID: Int64 = try row.decode("event_id")
            if try row.decode("has_changed") { merged.movedStatements.insert(eventID) }
            merged.appTransactionUsers[eventID] = try row.decode("user_id")
        }
        let tokens = fold.events.compactMap { event in event.externalPurchaseToken.map { (fact: $0, eventID: event.eventID) } }
        pipeline.add(tokens, ExternalPurchaseTokenMerge.statement) { merged, row in merged.movedStatements.insert(try row.decode(0)) }
    }

    /// Merges what Apple asked and decided about refunds, and derives the open requests; Production first, like every writer. After the orders:
    /// it may discard a call, which appstore.forget locks after the user's orders.
    private static func addRefundStatements(of fold: BatchFold, to pipeline: inout MergePipeline) {
        let statements = Array(fold.refundStatements.values)
        pipeline.add(statements, RefundRequestMerge.statement) { merged, row in
            merged.movedRefundStatements.insert(try row.notificationKey)
        }
        let transactions = Dictionary(grouping: statements, by: \.key.environment).mapValues { Set($0.map(\.transactionID)).sorted() }
        for (environment, ids) in transactions.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            pipeline.add(RefundRequestMerge.derivation(of: ids, in: environment))
        }
    }

    /// Numbers the refunds of an environment, and records those that are new. After what Apple decided: a reversal lies between two refunds.
    /// Then records the statuses found of which no effect tells.
    private static func addRefunds(_ application: BatchApplication, of fold: BatchFold, to pipeline: inout MergePipeline) {
        let keys = Dictionary(application.effects.keys.map { ($0.id, $0) }) { one, _ in one }
        if let statement = application.refundStatement {
            pipeline.add(statement) { merged, row in
                guard let key = keys[try row.decode("effect_id")] else { return }
                merged.effectEvents[key] = try row.decode("event_id")
            }
        }
        if let statement = application.foundStatement { addEffects(statement, of: application, in: fold, to: &pipeline) }
    }

    /// A statement that returns the ids of the effects that are new.
    private static func addEffects(
        _ statement: Statement,
        of application: BatchApplication,
        in fold: BatchFold,
        to pipeline: inout MergePipeline
    ) {
        let keys = Dictionary(application.effects.keys.map { ($0.id, $0) }) { one, _ in one }
        pipeline.add(statement) { merged, row in
            guard let key = keys[try row.decode(0)] else { return }
            merged.effectEvents[key] = fold.effects[key]?.eventID
        }
    }

    /// Looks up the first event of each post, and the owner of the transaction that it names.
    private static func addPosts(of fold: BatchFold, to pipeline: inout MergePipeline) {
        pipeline.add(Array(fold.posts.keys), ClientPostMerge.find) { merged, row in
            let key = ClientPost.Key(
                contract: try row.key("environment", "original_transaction_id"),
                user: try row.decode("user_id"),
                isReceipt: try row.decode("is_receipt"),
                transactionID: try row.decode("transaction_id")
            )
            merged.posts[key] = MergeResult.KnownPost(
                owner: try row.decode("owner"),
                firstEventID: try row.decode("first_event_id"),
                wasForgotten: try row.decode("was_forgotten")
            )
        }
    }

    /// Looks up the first event of each notification that existed before.
    private static func addFirstEvents(of fold: BatchFold, missingFrom merged: MergeResult, to pipeline: inout MergePipeline) {
        let known = fold.notifications.keys.filter { merged.firstEvents[$0] == nil }
        pipeline.add(known, NotificationMerge.firsts, read: readFirstEvent)
    }

    private static func readFirstEvent(_ merged: inout MergeResult, _ row: Row) throws {
        merged.firstEvents[try row.notificationKey] = try row.decode("first_event_id")
    }

    /// Looks up the event of each effect that existed before.
    private static func addEffectEvents(of fold: BatchFold, missingFrom merged: MergeResult, to pipeline: inout MergePipeline) {
        let known = fold.effects.keys.filter { merged.effectEvents[$0] == nil }
        let keys = Dictionary(known.map { ($0.id, $0) }) { one, _ in one }
        pipeline.add(Array(keys.keys), { Statement.findEffectEvents(effectIDs: $0) }) { merged, row in
            guard let key = keys[try row.decode("effect_id")] else { return }
            merged.effectEvents[key] = try row.decode("event_id")
        }
    }
}

/// A notification of the batch that the database does not have after the merge.
private struct MissingNotification: Error, CustomStringConvertible {
    let key: NotificationKey

    var description: String { "notification \(key.uuid) of \(key.environment.rawValue) is not in seen_notifications after its merge" }
}

extension BatchFold {
    /// The environments with facts or effects in the batch. Sandbox first: the advisory locks under which its orders are made come before the
    /// rows of orders, as in appstore.create_order.
    fileprivate var environments: [AppStoreEnvironment] {
        Set(transactions.keys.map(\.environment) + lockedContracts.map(\.environment) + effects.keys.map(\.environment)).sorted {
            $0.rawValue > $1.rawValue
        }
    }

    /// The contracts of events that are about more than one.
    fileprivate var eventContracts: [(contract: LedgerKey, eventID: Int64)] {
        events.lazy.filter { !$0.receipts.isEmpty || !$0.awaitedReceipts.isEmpty || !$0.legacyRenewals.isEmpty }.flatMap { event in
            let contracts = event.contracts
            return contracts.count > 1 ? contracts.map { (contract: $0, eventID: event.eventID) } : []
        }
    }
}

/// Statements of one round trip, each with the reader of its rows.
private struct MergePipeline {
    typealias Reader = (inout MergeResult, Row) throws -> Void
    private var steps: [(statement: Statement, read: Reader)] = []

    /// Adds a statement about these rows, unless there are none.
    mutating func add<Element>(
        _ rows: [Element],
        _ statement: ([Element]) -> Statement,
        read: @escaping Reader = { _, _ in }
    ) {
        if !rows.isEmpty { add(statement(rows), read: read) }
    }

    mutating func add(_ statement: Statement, read: @escaping Reader = { _, _ in }) {
        steps.append((statement, read))
    }

    /// Runs the statements in order, in one round trip.
    func run(in transaction: Transaction) async throws -> MergeResult {
        var merged = MergeResult()
        try await run(in: transaction, into: &merged)
        return merged
    }

    /// The same, but adds to an earlier result.
    func run(in transaction: Transaction, into merged: inout MergeResult) async throws {
        guard !steps.isEmpty else { return }
        for (rows, step) in zip(try await transaction.pipeline(steps.map(\.statement)), steps) {
            for row in rows {
                try step.read(&merged, row)
            }
        }
    }
}

extension Row {
    /// The key in these two columns.
    fileprivate func key(_ environment: String, _ id: String) throws -> LedgerKey {
        LedgerKey(environment: AppStoreEnvironment(rawValue: try decode(environment)), id: try decode(id))
    }

    fileprivate var notificationKey: NotificationKey {
        get throws {
            let environment = AppStoreEnvironment(rawValue: try decode("environment"))
            return NotificationKey(environment: environment, uuid: try decode("notification_uuid"))
        }
    }
}

/// Uses a receipt as it is when Apple's answer about it cannot be used.
package enum OutboundFallback {
    /// - Parameter answers: events that answer calls. Calls without a fallback, and calls that already fell back, are skipped.
    package static func fallBack(from answers: [Int64], in transaction: Transaction) async throws {
        try await transaction.execute(.fallBackFromAnswers(answerEventIDs: answers.sorted()))
    }
}

extension PostgresTimestamp {
    init(_ timestamp: Timestamp) {
        self.init(millisecondsSince1970: timestamp.millisecondsSince1970)
    }

    init?(_ timestamp: Timestamp?) {
        guard let timestamp else { return nil }
        self.init(timestamp)
    }
}
