import AppStore
package import Ledger
package import Postgres

/// Merges a batch's facts into the books.
package enum BookKeeper {
    /// Writes everything that the fold holds, brings orders and contracts up to date, and says what was new. All of it in the given
    /// transaction and in two round trips; the same order of tables for every batch, so that two batches cannot wait for each other.
    package static func merge(_ fold: BatchFold, in transaction: Transaction) async throws -> MergeAnswer {
        var answer = MergeAnswer()
        let notifications = fold.notifications.sorted { $0.key < $1.key }.map { (key: $0.key, eventID: $0.value) }
        let registers = fold.transactions.values.sorted { $0.latest.key < $1.latest.key }
        let renewals = fold.subscriptions.values.sorted { $0.key < $1.key }
        let effects = fold.effects.values.sorted { $0.effect.key < $1.effect.key }

        var steps = Pipeline()
        if !notifications.isEmpty {
            steps.add(NotificationMerge.statement(notifications)) { answer, row in
                answer.firstEvents[try row.key("environment", "notification_uuid")] = try row.decode("first_event_id")
            }
        }
        if !registers.isEmpty {
            steps.add(TransactionMerge.statement(registers)) { answer, row in
                let key = try row.key("environment", "transaction_id")
                // A row also moves when only its first sight does; that alone is nothing new.
                if try row.decode("payload_hash", as: [UInt8].self) == fold.transactions[key]?.latest.version.hash {
                    answer.movedTransactions.insert(key)
                }
            }
        }
        if !renewals.isEmpty {
            steps.add(SubscriptionMerge.statement(renewals)) { answer, row in
                answer.movedSubscriptions.insert(try row.key("environment", "original_transaction_id"))
            }
        }
        for environment in fold.environments {
            steps.add(derivation(of: fold, in: environment)) { _, _ in }
        }
        if !effects.isEmpty {
            steps.add(EffectMerge.insert(effects)) { _, _ in }
            steps.add(EffectMerge.origins(effects.map(\.effect.key))) { answer, row in
                let key = EffectKey(
                    environment: AppStoreEnvironment(rawValue: try row.decode("environment")),
                    kind: EffectKind(rawValue: try row.decode("kind")),
                    subject: try row.decode("effect_key")
                )
                answer.effectEvents[key] = try row.decode("event_id")
            }
        }
        try await steps.run(in: transaction, into: &answer)
        return answer
    }

    private static func derivation(of fold: BatchFold, in environment: AppStoreEnvironment) -> Statement {
        let transactions = fold.transactions.keys.filter { $0.environment == environment }.map(\.id).sorted()
        let contracts = fold.subscriptions.keys.filter { $0.environment == environment }.map(\.id).sorted()
        return "SELECT FROM appstore.derive_books(\(environment.rawValue), \(transactions), \(contracts))"
    }
}

/// Statements that travel together, each with what is to be done with its rows.
private struct Pipeline {
    typealias Take = (inout MergeAnswer, Row) throws -> Void
    private var statements: [Statement] = []
    private var takes: [Take] = []

    mutating func add(_ statement: Statement, take: @escaping Take) {
        statements.append(statement)
        takes.append(take)
    }

    func run(in transaction: Transaction, into answer: inout MergeAnswer) async throws {
        guard !statements.isEmpty else { return }
        for (rows, take) in zip(try await transaction.pipeline(statements), takes) {
            for row in rows {
                try take(&answer, row)
            }
        }
    }
}

extension BatchFold {
    /// The environments in which a register may have moved, in a fixed order.
    fileprivate var environments: [AppStoreEnvironment] {
        Set((Array(transactions.keys) + Array(subscriptions.keys)).map(\.environment)).sorted { $0.rawValue < $1.rawValue }
    }
}

extension Row {
    fileprivate func key(_ environment: String, _ id: String) throws -> LedgerKey {
        LedgerKey(environment: AppStoreEnvironment(rawValue: try decode(environment)), id: try decode(id))
    }
}
