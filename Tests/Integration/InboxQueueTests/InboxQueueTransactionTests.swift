import InboxTesting
import Postgres
import PostgresTesting
import Synchronization
import Testing

@testable import InboxQueue

/// Which transactions a batch has, and what it asks in them.
struct InboxQueueTransactionTests {
    /// Where a merge has written: the transaction, and whether it was a savepoint's.
    private struct Write: Sendable, Equatable {
        let transaction: Int64
        let isInSavepoint: Bool
    }

    private final class Writes: Sendable {
        let all = Mutex<[Write]>([])
    }

    /// Events 1 to 3, and a queue that notes where it merges. Those of `bad` cannot be merged.
    private func withQueue(
        bad: Set<Int64> = [],
        _ body: (TestDatabase, EventQueue<Int64>, Writes) async throws -> Void
    ) async throws {
        let database = try await InboxDatabase.make()
        try await database.withConnection(user: "appstore_ingest") { connection in
            _ = try await connection.execute("SELECT appstore.receive(\([[1], [2], [3]] as [[UInt8]]))")
        }
        try await database.withConnection { try await $0.runScript("CREATE TABLE public.merged (event_id bigint)") }
        let pool = try database.pool(user: "postgres")
        let writes = Writes()
        let queue = EventQueue<Int64>(pool: pool, configuration: .init(), logger: .silent, prepare: { $0.eventID }) { ids, transaction in
            let row = try await transaction.query(
                """
                INSERT INTO public.merged SELECT unnest(\(ids))
                RETURNING pg_current_xact_id()::text::bigint AS transaction, xmin <> pg_current_xact_id()::xid AS is_in_savepoint
                """
            )[0]
            let write = Write(transaction: try row.decode("transaction"), isInSavepoint: try row.decode("is_in_savepoint"))
            writes.all.withLock { $0.append(write) }
            if !bad.isDisjoint(with: ids) { _ = try await transaction.query("SELECT 1 / 0") }
            return ids.map { _ in .outcome(Outcome(.applied)) }
        }
        try await body(database, queue, writes)
        #expect(try await database.eventsNotExactlyOnce() == [])
        await pool.close()
    }

    @Test func `a batch that succeeds has one transaction and no savepoint`() async throws {
        try await withQueue { _, queue, writes in
            let report = try await queue.takeBatch()
            #expect(report.results == [.applied: 3])
            let writes = writes.all.withLock(\.self)
            #expect(writes.count == 1)
            #expect(writes.allSatisfy { !$0.isInSavepoint })
        }
    }

    @Test func `a batch whose merge fails is rolled back, and each event has a transaction of its own`() async throws {
        try await withQueue(bad: [2]) { database, queue, writes in
            let report = try await queue.takeBatch()
            #expect(report.results == [.applied: 2])
            #expect(report.retries == 1)
            let writes = writes.all.withLock(\.self)
            #expect(Set(writes.map(\.transaction)).count == 4)
            #expect(writes.allSatisfy { !$0.isInSavepoint })
            #expect(try await database.lines("SELECT event_id::text FROM public.merged ORDER BY 1") == ["1", "3"])
            #expect(try await queue.recoverLostBatches().lost == 0)
            #expect(try await database.lines("SELECT count(*)::text FROM appstore.batch_markers") == ["0"])
        }
    }

    @Test func `an event that another transaction holds, or that waits, is not taken by its id`() async throws {
        try await withQueue { database, _, _ in
            func claims(_ event: Int64) async throws -> Bool {
                try await database.withConnection(user: "appstore_worker") { connection in
                    try await connection.query(QueueStatements.claim(event, lane: 1)).first != nil
                }
            }
            try await database.withConnection { holder in
                try await holder.withTransaction { held in
                    _ = try await held.query("SELECT FROM appstore.inbox_queue WHERE event_id = 1 FOR UPDATE")
                    #expect(try await claims(1) == false)
                }
            }
            #expect(try await claims(1))
            try await database.withConnection { connection in
                _ = try await connection.execute("UPDATE appstore.inbox_queue SET run_at = now() + interval '1 hour'")
            }
            #expect(try await claims(1) == false)
            #expect(try await claims(4) == false)
        }
    }

    @Test func `a worker whose contract is not that of the schema claims nothing`() async throws {
        try await withQueue { database, queue, _ in
            try await database.withConnection { _ = try await $0.execute("UPDATE appstore.fence SET contract = contract + 1") }
            #expect(try await queue.takeBatch().events == 0)
            try await database.withConnection { connection in
                try await connection.runScript(
                    "UPDATE appstore.inbox_queue SET is_isolated = (event_id = 1); UPDATE appstore.fence SET contract = contract - 1;"
                )
            }
            #expect(try await queue.recoverLostBatches().isolatedAreDue)
            try await database.withConnection { _ = try await $0.execute("UPDATE appstore.fence SET contract = contract + 1") }
            #expect(try await queue.takeBatch().events == 0)
            #expect(try await queue.takeIsolated() == nil)
            try await database.withConnection { _ = try await $0.execute("UPDATE appstore.fence SET contract = contract - 1") }
            #expect(try await queue.takeBatch().results == [.applied: 2])
        }
    }

    @Test func `an event that was requeued has its number of runs from the queue`() async throws {
        try await withQueue { database, queue, _ in
            try await database.withConnection { _ = try await $0.execute("UPDATE appstore.inbox_queue SET run = 3 WHERE event_id = 2") }
            #expect(try await queue.takeBatch().results == [.applied: 3])
            let runs = try await database.lines("SELECT concat_ws('|', event_id, run) FROM appstore.outcomes ORDER BY 1")
            #expect(runs == ["1|1", "2|3", "3|1"])
        }
    }

    @Test func `a poll sees what is due, and nothing that is not`() async throws {
        try await withQueue { database, queue, _ in
            #expect(try await queue.hasDueEvents())
            #expect(try await queue.takeBatch().results == [.applied: 3])
            #expect(try await queue.hasDueEvents() == false)
            try await database.withConnection(user: "appstore_ingest") { connection in
                _ = try await connection.execute("SELECT appstore.receive(\([[4]] as [[UInt8]]))")
            }
            #expect(try await queue.hasDueEvents())
            try await database.withConnection { connection in
                _ = try await connection.execute("UPDATE appstore.inbox_queue SET run_at = now() + interval '1 hour'")
            }
            #expect(try await queue.hasDueEvents() == false)
        }
    }
}
