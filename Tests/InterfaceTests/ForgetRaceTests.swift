import Foundation
import InboxTesting
import Postgres
import PostgresTesting
import Testing

/// A session that is about to write the name when it is taken away is waited for, and what it wrote is found.
@Suite(.timeLimit(.minutes(2)))
struct ForgetRaceTests {
    private func expectNoName(in books: Books) async throws {
        #expect(try await ForgetScene.tables(in: books) == [])
        #expect(try await books.database.eventsNotExactlyOnce() == [])
    }

    @Test func `a batch that has a post of the user's in its hands`() async throws {
        try await ForgetScene.with { books in
            let alias = try await ForgetScene.forget(in: books) { worker in
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
            #expect(try await books.lines("SELECT user_id FROM appstore.client_posts WHERE event_id = 5") == [alias])
            try await expectNoName(in: books)
        }
    }

    @Test func `a renewal, which makes an order for whoever owns the contract`() async throws {
        try await ForgetScene.with { books in
            let alias = try await ForgetScene.forget(in: books) { worker in
                try await worker.execute(Charge("1005", onDay: 60).statement)
                try await worker.execute("SELECT appstore.derive_ledger('Production', ARRAY['1005'], '{}')")
            }
            #expect(try await books.lines("SELECT user_id FROM appstore.orders WHERE transaction_id = '1005'") == [alias])
            try await expectNoName(in: books)
        }
    }

    @Test func `a post of the user's that is being requeued is discarded, and never runs`() async throws {
        try await ForgetScene.with { books in
            _ = try await ForgetScene.forget(in: books) { desk in
                _ = try await desk.query("SELECT appstore.requeue_event(3)")
            }
            #expect(
                try await books.lines("SELECT concat_ws('|', run, result, reason) FROM appstore.outcomes WHERE event_id = 3") == [
                    "2|discarded|forgotten"
                ]
            )
            #expect(try await books.lines("SELECT event_id::text FROM appstore.inbox_queue") == ["4"])
            try await expectNoName(in: books)
        }
    }

    @Test func `a Sandbox purchase that takes a twin of the user's order`() async throws {
        try await ForgetScene.with { books in
            let order = UUID()
            try await books.makeOrder(order, user: ForgetScene.name)
            let alias = try await ForgetScene.forget(in: books) { worker in
                let charge = Charge("1006", onDay: 3, token: order).with { ($0.environment, $0.contract) = ("Sandbox", "1006") }
                try await worker.execute(charge.statement)
                try await worker.execute("SELECT appstore.derive_ledger('Sandbox', ARRAY['1006'], '{}')")
            }
            #expect(try await books.lines("SELECT user_id FROM appstore.orders WHERE transaction_id = '1006'") == [alias])
            try await expectNoName(in: books)
        }
    }

    @Test func `a snapshot that would not see what others wrote is refused`() async throws {
        try await ForgetScene.with { books in
            let error = await #expect(throws: PostgresError.self) {
                try await books.database.withConnection(user: "appstore_operator") { connection in
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
