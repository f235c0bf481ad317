import AppStore
import Ledger
import Postgres

/// Statements that travel together, each with what its rows say.
struct MergePipeline {
    typealias Take = (inout MergeAnswer, Row) throws -> Void
    private var steps: [(statement: Statement, take: Take)] = []

    /// Adds a statement about these rows, unless there are none.
    mutating func add<Element>(
        _ rows: [Element],
        _ statement: ([Element]) -> Statement,
        take: @escaping Take = { _, _ in }
    ) {
        if !rows.isEmpty { add(statement(rows), take: take) }
    }

    mutating func add(_ statement: Statement, take: @escaping Take = { _, _ in }) {
        steps.append((statement, take))
    }

    /// Runs them one after the other in one round trip.
    func run(in transaction: Transaction) async throws -> MergeAnswer {
        var answer = MergeAnswer()
        try await run(in: transaction, into: &answer)
        return answer
    }

    /// The same, for what an earlier answer is still to say.
    func run(in transaction: Transaction, into answer: inout MergeAnswer) async throws {
        guard !steps.isEmpty else { return }
        for (rows, step) in zip(try await transaction.pipeline(steps.map(\.statement)), steps) {
            for row in rows {
                try step.take(&answer, row)
            }
        }
    }
}

extension Row {
    /// The key in these two columns.
    func key(_ environment: String, _ id: String) throws -> LedgerKey {
        LedgerKey(environment: AppStoreEnvironment(rawValue: try decode(environment)), id: try decode(id))
    }

    var notificationKey: NotificationKey {
        get throws {
            let environment = AppStoreEnvironment(rawValue: try decode("environment"))
            return NotificationKey(environment: environment, uuid: try decode("notification_uuid"))
        }
    }
}
