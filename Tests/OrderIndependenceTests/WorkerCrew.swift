import AppStoreVerification
import Glibc
import Foundation
import Handlers
import Inbox
import InboxTesting
import LivesTesting
import Logging
import Postgres
import PostgresTesting
import Randomness
import Worker

/// Real workers at an inbox, until it is empty.
struct WorkerCrew {
    let hall: BookHall
    let verifier: Verifier
    let receipts: ReceiptVerifier
    let logger: Logger

    /// Lets one service work in peace, while the shop and operators do their part.
    func work(batchesAtOnce: Int, while commands: [LifeCommand]) async throws {
        try await withService(batchesAtOnce: batchesAtOnce, batchEvents: 25) {
            for command in commands { try await hall.retrying { try await hall.run(command) } }
            try await untilEmpty {}
        }
    }

    /// The same with services that are cancelled in the midst of their work, and whose connections the server ends under them. Returns
    /// how many connections were ended in mid-batch.
    func work(batchesAtOnce: Int, while commands: [LifeCommand], crashing generator: inout SeededGenerator) async throws -> Int {
        var crashes = 0
        let pieces = Shuffling.batches(of: commands, upTo: max(1, commands.count / 4), using: &generator)
        for piece in pieces {
            let batchEvents = Int.random(in: 1...20, using: &generator)
            try await withService(batchesAtOnce: batchesAtOnce, batchEvents: batchEvents) {
                for command in piece {
                    try await hall.retrying { try await hall.run(command) }
                    crashes += try await endConnections()
                }
            }
        }
        try await withService(batchesAtOnce: batchesAtOnce, batchEvents: 30) {
            var rounds = 0
            try await untilEmpty {
                rounds += 1
                if rounds < 20 { crashes += try await endConnections() }
            }
        }
        return crashes
    }

    /// Runs a service of its own pool as long as `body` takes, then cancels it wherever it is.
    private func withService(batchesAtOnce: Int, batchEvents: Int, _ body: () async throws -> Void) async throws {
        let pool = try hall.database.pool(user: "appstore_worker")
        let processor = EventProcessor(verifier: verifier, receipts: receipts, legacy: .lives)
        var configuration = InboxQueue<EventProcessor.Prepared>.Configuration()
        configuration.batchEvents = batchEvents
        let queue = InboxQueue(
            pool: pool,
            configuration: configuration,
            logger: logger,
            prepare: processor.prepare,
            merge: processor.merge
        )
        let service = WorkerService(
            queue: queue,
            configuration: .init(concurrency: batchesAtOnce),
            logger: logger,
            heartbeat: .init(beat: { _ in }, finish: { _ in })
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

    /// Ends the workers' connections, whatever they are doing.
    private func endConnections() async throws -> Int {
        try await hall.database.lines(
            """
            SELECT pg_terminate_backend(pid)::text FROM pg_stat_activity
            WHERE datname = current_database() AND usename = 'appstore_worker' AND state <> 'idle'
            """
        ).count
    }

    /// Looks again and again until every event has its outcome.
    private func untilEmpty(_ meanwhile: () async throws -> Void) async throws {
        let deadline = ContinuousClock.now + .seconds(120)
        while try await hall.shop.withConnection({ try await $0.query("SELECT FROM appstore.inbox_queue LIMIT 1") }).count > 0 {
            guard ContinuousClock.now < deadline else { throw NeverEmpty() }
            try await meanwhile()
            await breathe()
        }
    }

    /// Lets others work before the next look.
    private func breathe() async {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                _ = poll(nil, 0, 20)
                continuation.resume()
            }
        }
    }
}

/// Events were left without outcome for two minutes.
struct NeverEmpty: Error {}
