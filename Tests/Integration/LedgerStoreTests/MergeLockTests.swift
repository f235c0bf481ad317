import AppStore
import FoundationEssentials
import InboxTesting
import Ledger
import LedgerStore
import LedgerTesting
import Postgres
import PostgresTesting
import Testing

/// Concurrent batches with common contracts.
struct MergeLockTests {
    /// Disables the lock timeout: a slow test must not look like a deadlock.
    private func liftLockTimeout(_ ledger: LedgerFixture) async throws {
        try await ledger.database.withConnection { connection in
            try await connection.runScript(
                """
                DO $$ BEGIN
                    EXECUTE format('ALTER ROLE appstore_worker IN DATABASE %I SET lock_timeout = 0', current_database());
                END $$
                """
            )
        }
    }

    /// Each batch moves an order from a charge that the other batch has locked.
    @Test(.timeLimit(.minutes(1))) func `two batches about one contract do not deadlock`() async throws {
        try await LedgerFixture.with { ledger in
            try await liftLockTimeout(ledger)
            let token = UUID()
            let renewal = Facts.Charge("1001", onDay: 30, token: token)
            let purchase = Facts.Charge("1002", onDay: 0, token: token)
            try await ledger.createOrder(token, user: "anna")
            try await ledger.merge(renewal, renewals: [Facts.subscription("1000", signedDate: Facts.day(30), status: .active)])

            let holder = try await Connection.open(ConnectionOptions(ledger.database.url()), logger: .silent)
            try await holder.runScript("BEGIN; SELECT FROM appstore.orders WHERE order_no = '\(token.uuidString)' FOR UPDATE")
            async let first: Void = ledger.merge(
                purchase,
                renewals: [Facts.subscription("1000", signedDate: Facts.day(1), status: .active)]
            )
            try await ledger.database.awaitLockWaiters(1)
            async let second: Void = ledger.merge(
                renewal.with { ($0.signedDay, $0.revocationDay) = (40, 39) },
                purchase.with { $0.signedDay = 41 },
                renewals: [Facts.subscription("1000", signedDate: Facts.day(41), status: .active)]
            )
            try await ledger.database.awaitLockWaiters(2)
            try await holder.runScript("COMMIT")
            // A deadlock would fail one of them.
            _ = try await (first, second)
            #expect(try await ledger.orders() == ["1001 anna refunded period", "1002 anna paid token"])
            await holder.close()
        }
    }

    /// The lock of a contract serializes its batches. A batch that discovers late that it needs a contract which another one holds
    /// does not wait: it rolls back, and is repeated.
    @Test(.timeLimit(.minutes(1)), arguments: [("1000", false), ("2000", true)])
    func `a batch that moves an order of a locked contract rolls back and is repeated`(contract: String, isRepeated: Bool) async throws {
        try await LedgerFixture.with { ledger in
            try await liftLockTimeout(ledger)
            let token = UUID()
            let renewal = Facts.Charge("1001", onDay: 30, token: token)
            let purchase = Facts.Charge("1002", onDay: 0, token: token).with { $0.contract = contract }
            try await ledger.createOrder(token, user: "anna")
            try await ledger.merge(renewal)

            let holder = try await Connection.open(ConnectionOptions(ledger.database.url()), logger: .silent)
            try await holder.runScript("BEGIN; SELECT FROM appstore.orders WHERE order_no = '\(token.uuidString)' FOR UPDATE")
            async let first = ledger.mergeRepeating(purchase)
            try await ledger.database.awaitLockWaiters(1)
            async let second = ledger.mergeRepeating(renewal.with { ($0.signedDay, $0.revocationDay) = (40, 39) })
            try await ledger.database.awaitLockWaiters(2)
            try await holder.runScript("COMMIT")
            let repeats = try await [first, second]
            #expect((repeats[0] > 0, repeats[1]) == (isRepeated, 0))
            let orders = try await ledger.orders()
            // A purchase makes its user the owner of its own contract only.
            #expect(orders == ["1001 \(isRepeated ? "-" : "anna") refunded period", "1002 anna paid token"])
            await holder.close()
        }
    }

    /// The lock of a contract protects the orders that its own charges pay, and no others.
    @Test(.timeLimit(.minutes(1))) func `a renewal waits for a batch that withdraws another contract's payment of its token`() async throws
    {
        try await LedgerFixture.with { ledger in
            try await liftLockTimeout(ledger)
            let token = UUID()
            let payer = Facts.Charge("2000", onDay: 0, token: token).with { $0.contract = "2000" }
            let known = Facts.subscription("1000", signedDate: Facts.day(0), status: .active)
            try await ledger.createOrder(token, user: "anna")
            try await ledger.merge(payer, Facts.Charge("1000", onDay: 0), renewals: [known])
            let (starts, start) = AsyncStream.makeStream(of: Void.self)
            async let renewal: Void = {
                for await _ in starts { break }
                let register = Facts.subscription("1000", signedDate: Facts.day(30), status: .active)
                try await ledger.merge(Facts.Charge("1001", onDay: 30, token: token), renewals: [register])
            }()
            let shared = try ledger.events([payer.with { ($0.ownership, $0.signedDay) = (.familyShared, 40) }])
            try await ledger.pool.withTransaction { transaction in
                _ = try await LedgerMerger.merge(BatchFold(shared), in: transaction)
                start.finish()
                try await ledger.database.awaitLockWaiters(1)
            }
            try await renewal
            #expect(try await ledger.orders() == ["1000 anna paid period", "1001 anna paid token"])
        }
    }

    /// A receipt whose charges wait for Apple's answer brings a user, and no charge: neither batch sees what the other one has written.
    @Test(.timeLimit(.minutes(1)), arguments: [true, false])
    func `a consumable has its user when its charge and a receipt with it are merged at once`(chargeFirst: Bool) async throws {
        try await LedgerFixture.with { ledger in
            try await liftLockTimeout(ledger)
            let charge = try ledger.events([Facts.Charge(product: "coins", "1000", type: .consumable, onDay: 0)], [])
            let receipt = [Facts.receiptEvent(2, posts: [Facts.receiptPost("1000", by: "anna", onDay: 1, eventID: 2)])]
            let (held, other) = chargeFirst ? (charge, receipt) : (receipt, charge)
            let (starts, start) = AsyncStream.makeStream(of: Void.self)
            async let second: Void = {
                for await _ in starts { break }
                try await ledger.merge(other)
            }()
            try await ledger.pool.withTransaction { transaction in
                _ = try await LedgerMerger.merge(BatchFold(held), in: transaction)
                start.finish()
                try await ledger.database.awaitLockWaiters(1)
            }
            try await second
            #expect(try await ledger.orders() == ["1000 anna paid period"])
            #expect(try await ledger.contracts() == ["1000 anna 1000"])
        }
    }

    @Test func `a consumable that was neither posted nor linked leaves no contract`() async throws {
        try await LedgerFixture.with { ledger in
            let token = UUID()
            let coins = Facts.Charge(product: "coins", "1000", type: .consumable, onDay: 0)
            let ordered = Facts.Charge(product: "coins", "1001", type: .consumable, onDay: 0, token: token)
            try await ledger.merge(coins, ordered.with { $0.contract = "1001" })
            try await ledger.createOrder(token, user: "anna", product: "coins")
            #expect(try await ledger.contracts() == [])
        }
    }
}

extension LedgerFixture {
    /// Merges a charge as a batch of its own until it succeeds. Returns the number of repetitions after conflicts.
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
