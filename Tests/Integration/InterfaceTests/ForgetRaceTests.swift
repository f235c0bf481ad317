import Foundation
import InboxTesting
import Postgres
import Testing

/// Forgetting waits for sessions that are writing the user's name, and then finds their rows.
@Suite(.timeLimit(.minutes(2)))
struct ForgetRaceTests {
    private func expectNoName(in ledger: TestLedger) async throws {
        #expect(try await ForgetScene.tables(in: ledger) == [])
        #expect(try await ledger.database.eventsNotExactlyOnce() == [])
    }

    @Test func `a batch that holds a post of the user`() async throws {
        try await ForgetScene.with { ledger in
            let alias = try await ForgetScene.forget(in: ledger) { worker in
                _ = try await worker.query("SELECT FROM appstore.inbox_queue WHERE event_id = 5 FOR UPDATE")
            } then: { worker in
                try await worker.execute(
                    """
                    INSERT INTO appstore.client_posts (environment, original_transaction_id, user_id, is_receipt, transaction_id, received_at,
                                                       event_id)
                    VALUES ('Production', '2000', \(ForgetScene.name), false, '2000', now(), 5)
                    """
                )
                try await worker.execute(
                    """
                    SELECT appstore.settle('{}', '{5}', '{client_transaction}', ARRAY[now()], '{1}', '{1}', '{applied}', '{}', '{}', '{}', '{}', '{}',
                                           '{Production}', '{}', '{}', '{2000}')
                    """
                )
            }
            #expect(try await ledger.lines("SELECT user_id FROM appstore.client_posts WHERE event_id = 5") == [alias])
            try await expectNoName(in: ledger)
        }
    }

    @Test func `a renewal, which makes an order for the owner of the contract`() async throws {
        try await ForgetScene.with { ledger in
            let alias = try await ForgetScene.forget(in: ledger) { worker in
                try await worker.execute(Charge("1005", onDay: 60).statement)
                try await worker.execute("SELECT appstore.derive_ledger('Production', ARRAY['1005'], '{}')")
            }
            #expect(try await ledger.lines("SELECT user_id FROM appstore.orders WHERE transaction_id = '1005'") == [alias])
            try await expectNoName(in: ledger)
        }
    }

    @Test func `a post of the user that is being requeued is discarded and never runs`() async throws {
        try await ForgetScene.with { ledger in
            _ = try await ForgetScene.forget(in: ledger) { desk in
                _ = try await desk.query("SELECT appstore.requeue_event(3)")
            }
            #expect(
                try await ledger.lines("SELECT concat_ws('|', run, result, reason) FROM appstore.outcomes WHERE event_id = 3") == [
                    "2|discarded|forgotten"
                ]
            )
            #expect(try await ledger.lines("SELECT event_id::text FROM appstore.inbox_queue") == ["4"])
            try await expectNoName(in: ledger)
        }
    }

    @Test func `a Sandbox purchase that makes a twin of the user's order`() async throws {
        try await ForgetScene.with { ledger in
            let order = UUID()
            try await ledger.makeOrder(order, user: ForgetScene.name)
            let alias = try await ForgetScene.forget(in: ledger) { worker in
                let charge = Charge("1006", onDay: 3, token: order).with { ($0.environment, $0.contract) = ("Sandbox", "1006") }
                try await worker.execute(charge.statement)
                try await worker.execute("SELECT appstore.derive_ledger('Sandbox', ARRAY['1006'], '{}')")
            }
            #expect(try await ledger.lines("SELECT user_id FROM appstore.orders WHERE transaction_id = '1006'") == [alias])
            try await expectNoName(in: ledger)
        }
    }

    @Test func `forgetting above READ COMMITTED is refused`() async throws {
        try await ForgetScene.with { ledger in
            let error = await #expect(throws: PostgresError.self) {
                try await ledger.database.withConnection(user: "appstore_operator") { connection in
                    try await connection.withTransaction { transaction in
                        try await transaction.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
                        _ = try await transaction.query("SELECT appstore.forget(\(ForgetScene.name))")
                    }
                }
            }
            #expect(error?.message.contains("READ COMMITTED") == true)
        }
    }
}
