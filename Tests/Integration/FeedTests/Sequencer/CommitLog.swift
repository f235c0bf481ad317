import InboxTesting
import Postgres
import PostgresTesting
import Synchronization

/// What writers of tells have committed, and in which order; judges the feed by it.
///
/// A transaction that writes its tells after the commit of another one was confirmed is told after that one.
final class CommitLog: Sendable {
    private struct Transaction {
        let names: [String]
        let writtenAt: Int
        let confirmedAt: Int
    }

    private struct State {
        var time = 0
        var transactions: [Transaction] = []
        var names = 0
    }

    private let state = Mutex(State())

    /// How many tells are committed.
    var count: Int { state.withLock(\.names) }

    /// An instant, later than all earlier ones. Take one before the first tell of a transaction is sent.
    func now() -> Int {
        state.withLock { state in
            state.time += 1
            return state.time
        }
    }

    /// Records a transaction whose commit is confirmed: its tells, in order, each with a name of its own.
    func add(_ names: [String], writtenAt: Int) {
        let confirmedAt = now()
        state.withLock { state in
            state.transactions.append(Transaction(names: names, writtenAt: writtenAt, confirmedAt: confirmedAt))
            state.names += names.count
        }
    }

    /// What is wrong with a feed that is sequenced: each begins with `missing`, `extra`, `twice`, `gap` or `order`.
    func violations(in database: TestDatabase) async throws -> [String] {
        let transactions = state.withLock(\.transactions)
        let told = try await database.lines("SELECT user_id FROM appstore.feed ORDER BY position")
        let extent = try await database.lines(
            """
            SELECT concat_ws(' ', coalesce(min(f.position), 1), coalesce(max(f.position), 0), (SELECT h.position FROM appstore.feed_head AS h))
            FROM appstore.feed AS f
            """
        )
        var violations: [String] = []
        let expected = Set(transactions.flatMap(\.names))
        let unique = Set(told)
        if !unique.isSuperset(of: expected) { violations.append("missing: \(expected.subtracting(unique).sorted().prefix(5))") }
        if !unique.isSubset(of: expected) { violations.append("extra: \(unique.subtracting(expected).sorted().prefix(5))") }
        if unique.count < told.count { violations.append("twice: \(told.count - unique.count)") }
        if extent != ["1 \(told.count) \(told.count)"] {
            violations.append("gap: \(told.count) entries, first, last and head are \(extent)")
        }
        return violations + Self.disorder(of: told, transactions)
    }

    private static func disorder(of told: [String], _ transactions: [Transaction]) -> [String] {
        var places: [String: (transaction: Int, place: Int)] = [:]
        for (index, transaction) in transactions.enumerated() {
            for (place, name) in transaction.names.enumerated() { places[name] = (index, place) }
        }
        var firstConfirmed = (at: Int.max, name: "")
        var following = [Int](repeating: .max, count: transactions.count)
        var violations: [String] = []
        for name in told.reversed() {
            guard let (index, place) = places[name] else { continue }
            let transaction = transactions[index]
            if firstConfirmed.at < transaction.writtenAt { violations.append("order: \(name) before \(firstConfirmed.name)") }
            if place > following[index] { violations.append("order: \(name) before an earlier tell of its transaction") }
            following[index] = place
            if transaction.confirmedAt < firstConfirmed.at { firstConfirmed = (transaction.confirmedAt, name) }
        }
        return Array(violations.prefix(5))
    }
}
