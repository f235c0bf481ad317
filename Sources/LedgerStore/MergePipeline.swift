import AppStore
import Ledger
import Postgres

/// Statements of one round trip, each with the reader of its rows.
struct MergePipeline {
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
