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

    /// Takes batches until nothing is due, and answers how many events were settled.
    func run() async throws -> Int {
        try await run { _ in false }
    }

    /// Takes batches until so many events are settled, and answers when that was; nil when fewer were due.
    func end(ofFirst count: Int) async throws -> Double? {
        let end = Mutex<Double?>(nil)
        _ = try await run { total in
            guard total >= count else { return false }
            end.withLock { $0 = $0 ?? SteadyClock.now() }
            return true
        }
        return end.withLock(\.self)
    }

    /// - Parameter isOver: asked with the number of events that are settled by then.
    private func run(until isOver: @escaping @Sendable (Int) -> Bool) async throws -> Int {
        let total = Atomic(0)
        try await withThrowingDiscardingTaskGroup { group in
            for _ in 0..<Self.defaultLoops {
                group.addTask { @Sendable in
                    while !isOver(total.load(ordering: .relaxed)) {
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
