import Inbox
import Postgres
import Synchronization

/// Drains the inbox with nothing to do for any event.
struct QueueDrain: Sendable {
    private let queue: InboxQueue<Void>

    /// As many batches in flight as a worker has by default.
    static var defaultLoops: Int { Machine.processorCount + 1 }

    /// Lends what takes events off an inbox, that many in a batch. It remembers what a worker does.
    static func with<T: Sendable>(url: String, batch: Int, _ body: (QueueDrain) async throws -> T) async throws -> T {
        let pool = ConnectionPool(
            options: try ConnectionOptions(url),
            configuration: ConnectionPool.Configuration(maxConnections: defaultLoops),
            logger: .silent
        )
        var configuration = InboxQueue<Void>.Configuration()
        configuration.batchEvents = batch
        let queue = InboxQueue<Void>(
            pool: pool,
            configuration: configuration,
            logger: .silent,
            prepare: { _ in },
            merge: { prepared, _ in prepared.map { .outcome(Outcome(.noEffect)) } }
        )
        do {
            let value = try await body(QueueDrain(queue: queue))
            await pool.close()
            return value
        } catch {
            await pool.close()
            throw error
        }
    }

    /// Takes batches until nothing is due or so many events were settled, and answers how many were.
    func run(atMost limit: Int = .max) async throws -> Int {
        let total = Atomic(0)
        try await withThrowingDiscardingTaskGroup { group in
            for _ in 0..<Self.defaultLoops {
                group.addTask { @Sendable in
                    while total.load(ordering: .relaxed) < limit {
                        let report = try await queue.takeBatch()
                        guard report.events > 0 else { return }
                        total.add(report.events, ordering: .relaxed)
                    }
                }
            }
        }
        return total.load(ordering: .relaxed)
    }
}
