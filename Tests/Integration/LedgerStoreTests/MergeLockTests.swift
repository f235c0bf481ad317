import AppStore
import Foundation
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
                    EXECUTE format('ALTER ROLE appstore_backend IN DATABASE %I SET lock_timeout = 0', current_database());
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
            try await holder.runScript("BEGIN; SELECT FROM appstore.token_orders WHERE order_no = '\(token.uuidString)' FOR UPDATE")
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
            try await holder.runScript("BEGIN; SELECT FROM appstore.token_orders WHERE order_no = '\(token.uuidString)' FOR UPDATE")
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

    /// The first batch has a charge, the second one only renewal info: whichever it is, the contract comes before the notification.
    @Test(.timeLimit(.minutes(1))) func `two copies of a notification in batches of different kinds do not deadlock`() async throws {
        try await LedgerFixture.with { ledger in
            try await liftLockTimeout(ledger)
            let renewal = { day in Facts.subscription("1000", signedDate: Facts.day(day), status: .active) }
            try await ledger.merge(Facts.Charge("1000", onDay: 0), renewals: [renewal(0)])
            let purchase = Facts.event(1, uuid: "n", transaction: try Facts.Charge("1001", onDay: 30).fact())
            let copy = Facts.event(2, uuid: "n", subscription: renewal(30))
            let holder = try await Connection.open(ConnectionOptions(ledger.database.url()), logger: .silent)
            try await holder.runScript("BEGIN; SELECT FROM appstore.contracts FOR UPDATE")
            async let first = ledger.merge([purchase])
            try await ledger.database.awaitLockWaiters(1)
            async let second = ledger.merge([copy])
            try await ledger.database.awaitLockWaiters(2)
            try await holder.runScript("COMMIT")
            #expect(try await first.firstEvents.values.first == 1)
            #expect(try await second.firstEvents.values.first == 1)
            await holder.close()
        }
    }

    /// Each batch has the renewal info of one contract and the first charge of the other, none of which has a row.
    @Test(.timeLimit(.minutes(1))) func `two batches that make the same contracts do not deadlock`() async throws {
        try await LedgerFixture.with { ledger in
            try await liftLockTimeout(ledger)
            let batches = try [("1000", "2000"), ("2000", "1000")].map { renewed, charged in
                try ledger.events(
                    [Facts.Charge(charged, onDay: 0).with { $0.contract = charged }],
                    [Facts.subscription(renewed, signedDate: Facts.day(0), status: .active)]
                )
            }
            let holder = try await Connection.open(ConnectionOptions(ledger.database.url()), logger: .silent)
            // Both stop here, after the merge of renewal info and before contracts are derived.
            try await holder.runScript("BEGIN; LOCK TABLE appstore.transactions IN SHARE MODE")
            async let first = ledger.merge(batches[0])
            try await ledger.database.awaitLockWaiters(1)
            async let second = ledger.merge(batches[1])
            try await ledger.database.awaitLockWaiters(2)
            try await holder.runScript("COMMIT")
            _ = try await (first, second)
            #expect(try await ledger.contracts() == ["1000 - 1000 30", "2000 - 2000 30"])
            await holder.close()
        }
    }

    @Test(
        .timeLimit(.minutes(1)),
        arguments: [
            (
                "INSERT INTO appstore.contracts (environment, original_transaction_id) VALUES ('Production', '1000')",
                "SELECT appstore.lock_found_contracts('Production', '{2000,1000}')"
            ),
            (
                "INSERT INTO appstore.token_orders (environment, order_no) VALUES ('Production', '00000000-0000-4000-8000-000000000001')",
                """
                SELECT appstore.lock_found_orders(
                    'Production', '{00000000-0000-4000-8000-000000000000,00000000-0000-4000-8000-000000000001}')
                """
            ),
        ] as [(Statement, Statement)]
    )
    func `a writer does not wait for a row that it has found under its locks and that another one is making`(
        made: Statement,
        found: Statement
    ) async throws {
        try await LedgerFixture.with { ledger in
            let maker = try await Connection.open(ConnectionOptions(ledger.database.url()), logger: .silent)
            try await maker.runScript("BEGIN")
            _ = try await maker.execute(made)
            let error = await #expect(throws: PostgresError.self) {
                try await ledger.database.withConnection { _ = try await $0.query(found) }
            }
            #expect(error?.sqlState == .deadlockDetected)
            #expect(error?.message == "another transaction holds rows that this one needs")
            try await maker.runScript("ROLLBACK")
            _ = try await ledger.database.withConnection { try await $0.query(found) }
            await maker.close()
        }
    }

    @Test(.timeLimit(.minutes(1))) func `a link waits for a batch about its consumable`() async throws {
        try await LedgerFixture.with { ledger in
            let coins = Facts.Charge(product: "coins", "1000", type: .consumable, onDay: 0)
            try await ledger.merge(coins)
            let (starts, start) = AsyncStream.makeStream(of: Void.self)
            async let linked: Void = {
                for await _ in starts { break }
                try await ledger.database.withConnection { connection in
                    _ = try await connection.query("SELECT appstore.link_owner('Production', '1000', 'anna')")
                }
            }()
            let again = try ledger.events([coins.with { $0.signedDay = 1 }])
            try await ledger.pool.withTransaction { transaction in
                _ = try await LedgerMerger.merge(BatchFold(again), in: transaction)
                start.finish()
                try await ledger.database.awaitLockWaiters(1)
            }
            try await linked
            #expect(try await ledger.contracts() == ["1000 anna 1000"])
        }
    }

    /// An order is made, and forgotten, under an advisory lock, which comes before its rows in both environments.
    @Test(.timeLimit(.minutes(1))) func `a batch with purchases of both environments waits for an order that both name`() async throws {
        try await LedgerFixture.with { ledger in
            try await liftLockTimeout(ledger)
            let token = UUID()
            try await ledger.createOrder(token, user: "anna")
            let charges = [
                Facts.Charge("1000", onDay: 0, token: token),
                Facts.Charge("1001", onDay: 0, token: token).with { ($0.contract, $0.environment) = ("1001", .sandbox) },
            ]
            let holder = try await Connection.open(ConnectionOptions(ledger.database.url()), logger: .silent)
            try await holder.runScript("BEGIN; SELECT FROM appstore.token_orders FOR UPDATE")
            async let merged = ledger.merge(ledger.events(charges))
            try await ledger.database.awaitLockWaiters(1)
            async let made: Void = ledger.createOrder(token, user: "anna")
            try await ledger.database.awaitLockWaiters(2)
            try await holder.runScript("COMMIT")
            _ = try await (merged, made)
            #expect(try await ledger.orders() == ["1000 anna paid token"])
            #expect(try await ledger.orders("Sandbox") == ["1001 anna paid token"])
            await holder.close()
        }
    }

    /// The batch discards our answer to Apple's request, as Apple has decided; forgetting erases it after the orders of the user.
    @Test(.timeLimit(.minutes(1))) func `a consumable is refunded while its user is forgotten`() async throws {
        try await LedgerFixture.with { ledger in
            try await liftLockTimeout(ledger)
            let token = UUID()
            let coins = Facts.Charge(product: "coins", "1000", type: .consumable, onDay: 0, token: token)
            try await ledger.createOrder(token, user: "anna", product: "coins")
            let now = Int64(Date().timeIntervalSince1970 * 1000)
            func event(_ id: Int64, _ kind: RefundRequestFact.Kind, _ charge: Facts.Charge, at signedDate: Int64) throws -> EventFacts {
                let statement = try Facts.refundStatement(kind, of: charge, uuid: "\(id)", signedDate: signedDate)
                return Facts.event(id, transaction: try charge.fact(), refundStatement: statement)
            }
            try await ledger.merge([event(1, .asked, coins, at: now - 60_000)])
            let holder = try await Connection.open(ConnectionOptions(ledger.database.url()), logger: .silent)
            try await holder.runScript(
                """
                INSERT INTO appstore.consumption_policies (bundle_id, mode) VALUES ('com.example.app', 'backend');
                SELECT appstore.give_consent('anna', 'terms 7');
                SELECT appstore.answer_consumption('Production', '1000', true, 'DELIVERED', false);
                """
            )
            try await holder.runScript("BEGIN; SELECT FROM appstore.consents FOR UPDATE")
            async let forgotten: Void = ledger.database.withConnection { connection in
                _ = try await connection.query("SELECT appstore.forget('anna')")
            }
            try await ledger.database.awaitLockWaiters(1)
            let refund = try event(2, .refunded, coins.with { ($0.signedDay, $0.revocationDay) = (1, 1) }, at: now)
            async let merged = ledger.merge([refund])
            try await ledger.database.awaitLockWaiters(2)
            try await holder.runScript("COMMIT")
            _ = try await (forgotten, merged)
            let calls = try await ledger.database.lines("SELECT concat_ws(' ', state, reason) FROM appstore.outbox")
            #expect(calls == ["discarded forgotten"])
            await holder.close()
        }
    }

    @Test func `a consumable that was neither posted nor linked has a contract only while nothing says whose it is`() async throws {
        try await LedgerFixture.with { ledger in
            let token = UUID()
            let coins = Facts.Charge(product: "coins", "1000", type: .consumable, onDay: 0)
            let ordered = Facts.Charge(product: "coins", "1001", type: .consumable, onDay: 0, token: token)
            try await ledger.merge(coins, ordered.with { $0.contract = "1001" })
            try await ledger.createOrder(token, user: "anna", product: "coins")
            try await ledger.merge([Facts.receiptEvent(1, receipts: [coins.receipt(.signedReceipt, onDay: 1)])])
            #expect(try await ledger.contracts() == ["1000 - 1000"])
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
