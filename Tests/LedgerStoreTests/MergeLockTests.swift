import AppStore
import FoundationEssentials
import InboxTesting
import Ledger
import LedgerStore
import LedgerTesting
import Postgres
import PostgresTesting
import Testing

/// Batches that meet.
struct MergeLockTests {
    /// Waits until that many workers' sessions of this database wait for a lock.
    private func awaitWaiting(_ count: Int, on connection: Connection) async throws {
        let waiting: Statement = """
            SELECT FROM pg_stat_activity
            WHERE datname = current_database() AND usename = 'appstore_worker' AND wait_event_type = 'Lock'
            """
        while try await connection.query(waiting).count < count { try await Task.sleep(for: .milliseconds(5)) }
    }

    /// Waiting for a lock has no end here: what is slow would pass for a circle.
    private func liftLockTimeout(_ books: Books) async throws {
        try await books.database.withConnection { connection in
            try await connection.runScript(
                """
                DO $$ BEGIN
                    EXECUTE format('ALTER ROLE appstore_worker IN DATABASE %I SET lock_timeout = 0', current_database());
                END $$
                """
            )
        }
    }

    /// The one moves an order from a charge that the other has in hand, and has a charge in hand that the other wants.
    @Test(.timeLimit(.minutes(1))) func `two batches about one contract do not wait for each other in a circle`() async throws {
        try await Books.with { books in
            try await liftLockTimeout(books)
            let token = UUID()
            let renewal = Facts.Charge("1001", onDay: 30, token: token)
            let purchase = Facts.Charge("1002", onDay: 0, token: token)
            try await books.createOrder(token, user: "anna")
            try await books.merge(renewal, renewals: [Facts.subscription("1000", signedDate: Facts.day(30), status: .active)])

            let holder = try await Connection.open(ConnectionOptions(books.database.url()), logger: .silent)
            let observer = try await Connection.open(ConnectionOptions(books.database.url()), logger: .silent)
            try await holder.runScript("BEGIN; SELECT FROM appstore.orders WHERE order_no = '\(token.uuidString)' FOR UPDATE")
            async let first: Void = books.merge(
                purchase,
                renewals: [Facts.subscription("1000", signedDate: Facts.day(1), status: .active)]
            )
            try await awaitWaiting(1, on: observer)
            async let second: Void = books.merge(
                renewal.with { ($0.signedDay, $0.revocationDay) = (40, 39) },
                purchase.with { $0.signedDay = 41 },
                renewals: [Facts.subscription("1000", signedDate: Facts.day(41), status: .active)]
            )
            try await awaitWaiting(2, on: observer)
            try await holder.runScript("COMMIT")
            // A circle would end one of them with an error.
            _ = try await (first, second)
            #expect(try await books.orders() == ["1001 anna refunded period", "1002 anna paid token"])
            await holder.close()
            await observer.close()
        }
    }

    /// The lock of a contract keeps its batches apart. A batch that finds only later that it needs a contract, which another one holds,
    /// does not wait: it gives way, and is repeated.
    @Test(.timeLimit(.minutes(1)), arguments: [("1000", false), ("2000", true)])
    func `a batch gives way to another that holds the contract whose order it wants to move`(contract: String, givesWay: Bool) async throws
    {
        try await Books.with { books in
            try await liftLockTimeout(books)
            let token = UUID()
            let renewal = Facts.Charge("1001", onDay: 30, token: token)
            let purchase = Facts.Charge("1002", onDay: 0, token: token).with { $0.contract = contract }
            try await books.createOrder(token, user: "anna")
            try await books.merge(renewal)

            let holder = try await Connection.open(ConnectionOptions(books.database.url()), logger: .silent)
            let observer = try await Connection.open(ConnectionOptions(books.database.url()), logger: .silent)
            try await holder.runScript("BEGIN; SELECT FROM appstore.orders WHERE order_no = '\(token.uuidString)' FOR UPDATE")
            async let first = books.mergeRepeating(purchase)
            try await awaitWaiting(1, on: observer)
            async let second = books.mergeRepeating(renewal.with { ($0.signedDay, $0.revocationDay) = (40, 39) })
            try await awaitWaiting(2, on: observer)
            try await holder.runScript("COMMIT")
            let repeats = try await [first, second]
            #expect((repeats[0] > 0, repeats[1]) == (givesWay, 0))
            let orders = try await books.orders()
            // A purchase of another contract makes its user the owner of that one only.
            #expect(orders == ["1001 \(givesWay ? "-" : "anna") refunded period", "1002 anna paid token"])
            await holder.close()
            await observer.close()
        }
    }

    /// The lock of a contract guards the orders that its own charges pay, and no others.
    @Test(.timeLimit(.minutes(1))) func `a renewal waits for a batch that takes another contract's payment of its token back`() async throws
    {
        try await Books.with { books in
            try await liftLockTimeout(books)
            let token = UUID()
            let payer = Facts.Charge("2000", onDay: 0, token: token).with { $0.contract = "2000" }
            let known = Facts.subscription("1000", signedDate: Facts.day(0), status: .active)
            try await books.createOrder(token, user: "anna")
            try await books.merge(payer, Facts.Charge("1000", onDay: 0), renewals: [known])
            let observer = try await Connection.open(ConnectionOptions(books.database.url()), logger: .silent)
            let (starts, start) = AsyncStream.makeStream(of: Void.self)
            async let renewal: Void = {
                for await _ in starts { break }
                let register = Facts.subscription("1000", signedDate: Facts.day(30), status: .active)
                try await books.merge(Facts.Charge("1001", onDay: 30, token: token), renewals: [register])
            }()
            let shared = try books.events([payer.with { ($0.ownership, $0.signedDay) = (.familyShared, 40) }])
            try await books.pool.withTransaction { transaction in
                _ = try await BookKeeper.merge(BatchFold(shared), in: transaction)
                start.finish()
                try await awaitWaiting(1, on: observer)
            }
            try await renewal
            #expect(try await books.orders() == ["1000 anna paid period", "1001 anna paid token"])
            await observer.close()
        }
    }
}

extension Books {
    /// Merges a charge as a batch by itself, as often as it takes, and says how often it was repeated after a conflict.
    fileprivate func mergeRepeating(_ charge: Facts.Charge) async throws -> Int {
        var repeats = 0
        while true {
            do {
                try await merge(charge)
                return repeats
            } catch let error as PostgresError where error.sqlState == .deadlockDetected {
                repeats += 1
            }
        }
    }
}
