import AppStoreVerification
import InboxQueue
import InboxTesting
import Interpretation
import LivesTesting
import Logging
import Postgres
import PostgresTesting
import Randomness

/// Runs real workers until the inbox is empty.
struct WorkerRunner {
    let ledger: LedgerFixture
    let verifier: Verifier
    let receipts: ReceiptVerifier
    let logger: Logger

    /// Runs one service without faults, and the commands beside it.
    func work(batchesAtOnce: Int, while commands: [LifeCommand]) async throws {
        try await withService(batchesAtOnce: batchesAtOnce, batchEvents: 25) {
            for command in commands { try await ledger.retrying { try await ledger.run(command) } }
            try await untilEmpty {}
        }
    }

    /// Runs services that are cancelled at work and whose connections the server terminates. Returns how many connections were terminated in a
    /// batch.
    func work(batchesAtOnce: Int, while commands: [LifeCommand], crashing generator: inout SeededGenerator) async throws -> Int {
        var crashes = 0
        let pieces = Shuffling.batches(of: commands, upTo: max(1, commands.count / 4), using: &generator)
        for piece in pieces {
            let batchEvents = Int.random(in: 1...20, using: &generator)
            try await withService(batchesAtOnce: batchesAtOnce, batchEvents: batchEvents) {
                for command in piece {
                    try await ledger.retrying { try await ledger.run(command) }
                    crashes += try await terminateConnections()
                }
            }
        }
        try await withService(batchesAtOnce: batchesAtOnce, batchEvents: 30) {
            var rounds = 0
            try await untilEmpty {
                rounds += 1
                if rounds < 20 { crashes += try await terminateConnections() }
            }
        }
        return crashes
    }

    /// Runs a service with its own pool while `body` runs, then cancels it.
    private func withService(batchesAtOnce: Int, batchEvents: Int, _ body: () async throws -> Void) async throws {
        let pool = try ledger.database.pool(user: "appstore_worker")
        let processor = EventProcessor(EventReader(verifier: verifier, receipts: receipts, legacy: .lives))
        var configuration = EventQueue<EventProcessor.Prepared>.Configuration()
        configuration.batchEvents = batchEvents
        let queue = EventQueue(
            pool: pool,
            configuration: configuration,
            logger: logger,
            prepare: processor.prepare,
            merge: processor.merge
        )
        let service = WorkerService(
            queue: queue,
            configuration: .init(concurrency: batchesAtOnce),
            logger: logger
        )
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await service.run() }
            do {
                try await body()
            } catch {
                group.cancelAll()
                throw error
            }
            group.cancelAll()
        }
        await pool.close()
    }

    /// Terminates the workers' busy connections.
    private func terminateConnections() async throws -> Int {
        try await ledger.database.lines(
            """
            SELECT pg_terminate_backend(pid)::text FROM pg_stat_activity
            WHERE datname = current_database() AND usename = 'appstore_worker' AND state <> 'idle'
            """
        ).count
    }

    /// Waits until every event has its outcome: however slow the machine is, one more has it within two minutes.
    private func untilEmpty(_ meanwhile: () async throws -> Void) async throws {
        var left = Int.max
        do {
            while left > 0 {
                left = try await eventually("another event has its outcome", within: .seconds(120)) { [left] in
                    let waiting = try await ledger.database.lines("SELECT event_id::text FROM appstore.inbox_queue").count
                    if waiting > 0 { try await meanwhile() }
                    return waiting < left ? waiting : nil
                }
            }
        } catch let timeout as ConditionTimeout {
            throw StillWaiting(timeout: timeout, rows: try await obstacles())
        }
    }

    /// The events that wait, the markers of batches, and the sessions.
    private func obstacles() async throws -> [String] {
        try await ledger.database.lines(
            """
            (SELECT concat(to_jsonb(q), ' due in ', q.run_at - clock_timestamp()) FROM appstore.inbox_queue AS q ORDER BY q.run_at LIMIT 10)
            UNION ALL
            (SELECT to_jsonb(b)::text FROM appstore.batch_markers AS b ORDER BY b.marked_at LIMIT 10)
            UNION ALL
            (SELECT concat_ws(' ', pid, usename, state, wait_event, state_change, left(query, 60)) FROM pg_stat_activity
             WHERE datname = current_database())
            """
        )
    }

    /// What is in the way of the last events.
    private struct StillWaiting: Error {
        let timeout: ConditionTimeout
        let rows: [String]
    }
}
