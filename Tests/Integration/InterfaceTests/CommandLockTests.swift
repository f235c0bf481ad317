import Foundation
import InboxTesting
import Postgres
import PostgresTesting
import Synchronization
import Testing

/// Commands and posts that run concurrently with a merge cause no deadlock.
@Suite(.timeLimit(.minutes(2)))
struct CommandLockTests {
    /// Makes two sessions wait for a row that a third session holds, the first before the second, then releases the row. A session that
    /// calls `give_way` is repeated, as in the worker and the API; a deadlock that PostgreSQL detects is an error.
    private func race(
        for row: Statement,
        in ledger: TestLedger,
        first: @escaping @Sendable (Connection) async throws -> Void,
        second: @escaping @Sendable (Connection) async throws -> Void
    ) async throws {
        let options = try ConnectionOptions(ledger.database.url())
        let holder = try await Connection.open(options, logger: .silent)
        let observer = try await Connection.open(options, logger: .silent)
        let runs = Runs()
        try await holder.runScript("BEGIN")
        _ = try await holder.query(row)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (position, body) in [first, second].enumerated() {
                group.addTask {
                    defer { runs.state.withLock { $0.ended += 1 } }
                    let connection = try await Connection.open(options, logger: .silent)
                    while try await Self.givesWay({ try await Self.transact(connection, body) }) {
                        _ = runs.state.withLock { $0.gaveWay.insert(position) }
                        try await Task.sleep(for: .milliseconds(10))
                    }
                    await connection.close()
                }
                let waiting: Statement = "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
                while try await observer.query(waiting).count + runs.state.withLock({ $0.gaveWay.count }) <= position,
                    runs.state.withLock({ $0.ended }) == 0
                {
                    try await Task.sleep(for: .milliseconds(5))
                }
            }
            try await holder.runScript("COMMIT")
            try await group.waitForAll()
        }
        await holder.close()
        await observer.close()
    }

    /// The progress of the two sessions.
    private final class Runs: Sendable {
        struct State {
            var gaveWay: Set<Int> = []
            var ended = 0
        }

        let state = Mutex(State())
    }

    private static func transact(_ connection: Connection, _ body: (Connection) async throws -> Void) async throws {
        try await connection.runScript("BEGIN")
        do {
            try await body(connection)
            try await connection.runScript("COMMIT")
        } catch {
            try await connection.runScript("ROLLBACK")
            throw error
        }
    }

    private static func givesWay(_ body: () async throws -> Void) async throws -> Bool {
        do {
            try await body()
            return false
        } catch let error as PostgresError where error.message == "another transaction holds rows that this one needs" {
            return true
        }
    }

    @Test func `an order is made while its Sandbox purchase is merged`() async throws {
        try await TestLedger.with { ledger in
            let order = UUID()
            let key = try await ledger.database.makeAPIKey()
            let charge = Charge("1006", onDay: 3, token: order).with { ($0.environment, $0.contract) = ("Sandbox", "1006") }
            try await ledger.put(charge)
            try await race(for: "SELECT FROM appstore.transactions FOR UPDATE", in: ledger) { worker in
                _ = try await worker.execute(charge.statement)
                _ = try await worker.execute("SELECT appstore.derive_ledger('Sandbox', ARRAY['1006'], '{}')")
            } second: { api in
                _ = try await api.execute("SELECT appstore.api_create_order(\(key), 'alice', 'pro.monthly', \(order), NULL)")
            }
            let orders = try await ledger.lines("SELECT concat_ws('|', environment, user_id) FROM appstore.orders ORDER BY environment")
            #expect(orders == ["Production|alice", "Sandbox|alice"])
        }
    }

    @Test func `a period is refunded while its user is forgotten`() async throws {
        try await ForgetScene.with { ledger in
            try await race(for: "SELECT FROM appstore.contracts FOR UPDATE", in: ledger) { operator_ in
                _ = try await operator_.execute("SELECT appstore.forget(\(ForgetScene.name))")
            } second: { worker in
                _ = try await worker.execute(Charge("1001", onDay: 30).with { $0.revocationDay = 31 }.statement)
                _ = try await worker.execute("SELECT appstore.derive_ledger('Production', ARRAY['1001'], '{}')")
            }
            #expect(try await ForgetScene.tables(in: ledger) == [])
        }
    }

    @Test func `a charge is posted again while its user is forgotten`() async throws {
        try await ForgetScene.with { ledger in
            try await race(for: "SELECT FROM appstore.client_posts FOR UPDATE", in: ledger) { worker in
                _ = try await worker.execute("SELECT FROM appstore.client_posts FOR UPDATE")
                _ = try await worker.execute("SELECT appstore.derive_ledger('Production', '{}', ARRAY['1000'])")
            } second: { operator_ in
                _ = try await operator_.execute("SELECT appstore.forget(\(ForgetScene.name))")
            }
            #expect(try await ForgetScene.tables(in: ledger) == [])
        }
    }

    @Test func `a linked consumable is derived by two sessions`() async throws {
        try await TestLedger.with { ledger in
            try await ledger.put(Charge("coins", "Consumable", "1000", onDay: 0), Charge("2000", onDay: 0).with { $0.contract = "2000" })
            try await ledger.run("SELECT appstore.link_owner('Production', '1000', 'alice', 'she wrote to us')", as: "appstore_operator")
            try await race(for: "SELECT FROM appstore.contracts WHERE original_transaction_id = '2000' FOR UPDATE", in: ledger) { worker in
                _ = try await worker.execute("SELECT appstore.derive_ledger('Production', ARRAY['1000', '2000'], '{}')")
            } second: { another in
                _ = try await another.execute("SELECT appstore.derive_ledger('Production', '{}', ARRAY['1000', '2000'])")
            }
            let contracts = try await ledger.lines(
                "SELECT concat_ws('|', original_transaction_id, user_id) FROM appstore.contracts ORDER BY 1"
            )
            #expect(contracts == ["1000|alice", "2000"])
        }
    }

    @Test(
        arguments: [
            ("backend", "create_order('alice', 'pro.monthly')"), ("backend", "link_owner('Production', '1006', 'alice')"),
            ("backend", "unlink_owner('Production', '1006')"), ("operator", "forget('alice')"),
            ("operator", "make_api_key('\\x00', 'shop', NULL, '{Sandbox}', '{events:read}')"),
            ("worker", "derive_refund_requests('Production', '{}')"),
            (
                "worker",
                "apply_facts('Production', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}')"
            ),
        ],
        ["REPEATABLE READ", "SERIALIZABLE"]
    )
    func `a command above READ COMMITTED is refused`(command: (role: String, call: String), level: String) async throws {
        try await TestLedger.with { ledger in
            try await ledger.put(Charge("1006", onDay: 3).with { $0.contract = "1006" })
            try await ledger.link("1006", to: "bob", onDay: 4)
            let error = await #expect(throws: PostgresError.self) {
                try await ledger.database.withConnection(user: "appstore_\(command.role)") { connection in
                    try await connection.runScript("BEGIN ISOLATION LEVEL \(level); SELECT appstore.\(command.call); COMMIT")
                }
            }
            #expect(error?.message == "this must see what other transactions commit meanwhile: call it in READ COMMITTED, not in \(level)")
        }
    }
}
