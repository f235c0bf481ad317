import Inbox
import Postgres

/// Drains the inbox with nothing to do for any event.
struct QueueDrain: Sendable {
    let url: String
    let batch: Int
    let loops: Int

    /// As many batches in flight as a worker has by default.
    static var defaultLoops: Int { Machine.processorCount + 1 }

    /// Takes batches until nothing is due, and answers how many events were settled.
    func run() async throws -> Int {
        let pool = ConnectionPool(
            options: try ConnectionOptions(url),
            configuration: ConnectionPool.Configuration(maxConnections: loops),
            logger: .silent
        )
        var configuration = InboxQueue<Void>.Configuration()
        configuration.batchEvents = batch
        let queue = InboxQueue<Void>(
            pool: pool,
            configuration: configuration,
            logger: .silent,
            prepare: { events in events.map { _ in () } },
            merge: { prepared, _ in prepared.map { .outcome(Outcome(.noEffect)) } }
        )
        do {
            let count = try await drain(queue)
            await pool.close()
            return count
        } catch {
            await pool.close()
            throw error
        }
    }

    private func drain(_ queue: InboxQueue<Void>) async throws -> Int {
        try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<loops {
                group.addTask {
                    var count = 0
                    while true {
                        let report = try await queue.takeBatch()
                        guard report.events > 0 else { return count }
                        count += report.events
                    }
                }
            }
            return try await group.reduce(0, +)
        }
    }
}
