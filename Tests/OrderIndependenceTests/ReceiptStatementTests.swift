import AppStore
import FoundationEssentials
import InboxTesting
import Ledger
import LedgerStore
import LivesTesting
import Postgres
import PostgresTesting
import StoreSimulator
import Testing

/// What a receipt costs: the number of SQL statements does not grow with the number of purchases in it.
struct ReceiptStatementTests {
    @Test func `a receipt with 187 purchases takes as many statements as one with a single purchase`() async throws {
        let cluster = try await TestCluster.startPrivate(settings: [
            "shared_preload_libraries": "pg_stat_statements", "pg_stat_statements.track": "top",
        ])
        let database = try await InboxDatabase.make(in: cluster)
        _ = try await database.withConnection { try await $0.execute("CREATE EXTENSION pg_stat_statements") }
        let workers = try database.pool(user: "appstore_worker", connections: 1)
        var counts: [Int] = []
        var rows: [Int64] = []
        // The first receipt opens the connection and is not counted.
        for (number, purchases) in [1, 1, 187, 187].enumerated() {
            let fold = BatchFold(try UnsignedFacts.facts(of: [try Self.event(number, purchases: purchases)]))
            _ = try await database.withConnection { try await $0.query("SELECT pg_stat_statements_reset()") }
            _ = try await workers.withTransaction { try await BookKeeper.merge(fold, in: $0) }
            let called = try await database.lines(
                """
                SELECT sum(calls)::text FROM pg_stat_statements AS s JOIN pg_roles AS r ON r.oid = s.userid
                WHERE r.rolname = 'appstore_worker' AND s.dbid = (SELECT oid FROM pg_database WHERE datname = current_database())
                """
            )
            counts += called.compactMap { Int($0) }
            rows.append(Int64(try await database.lines("SELECT count(*)::text FROM appstore.transactions")[0]) ?? 0)
        }
        #expect(rows == [1, 2, 189, 376])
        #expect(counts.count == 4)
        #expect(Set(counts.dropFirst()).count == 1, "\(counts)")
        // BEGIN and COMMIT, the registers, the books, the effects, and who posted what first.
        #expect((1...12).contains(counts[1]), "\(counts)")
        await workers.close()
        await cluster.stop()
    }

    /// A posted receipt of somebody who bought so many things, half of them periods of one subscription.
    private static func event(_ number: Int, purchases: Int) throws -> LifeEvent {
        var store = SimulatedStore(
            app: HistoryAuthor.app,
            seed: UInt64(number),
            now: Timestamp(millisecondsSince1970: 1_400_000_000_000)
        )
        var life = store.makeCustomer()
        life.numberCharges(from: UInt64(1 + number) * 1_000_000, step: 1)
        let once = try #require(life.catalogue.oneTimeProducts.first { $0.type == .consumable })
        _ = try life.subscribe()
        while life.transactionCount < purchases {
            if life.transactionCount % 2 == 0 { _ = try life.renew() } else { _ = try life.buy(once) }
        }
        let transactions = life.oneTimeCharges + (life.subscription?.transactions ?? [])
        let receipt = LifeReceipt(
            receipt: SimulatedReceipt.receipt(of: HistoryAuthor.app, holding: Array(transactions.prefix(purchases)), madeAt: life.now),
            text: "receipt"
        )
        let post = ReceiptPost(receipt: receipt, app: HistoryAuthor.app, user: "anna", transactionID: transactions.last?.transactionID)
        return LifeEvent(id: Int64(number) + 1, receivedAt: life.now, content: .receipt(post))
    }
}

extension CustomerLife {
    fileprivate var transactionCount: Int { oneTimeCharges.count + (subscription?.transactions.count ?? 0) }
}
