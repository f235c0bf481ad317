import Inbox
import Postgres

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

    /// Takes batches until nothing is due, and answers how many events were settled.
    func run() async throws -> Int {
        try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<Self.defaultLoops {
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
