import InboxQueue
import Postgres
import Synchronization

/// Drains the inbox with a handler that does nothing.
struct QueueDrain: Sendable {
    private let queue: EventQueue<Void>

    /// A worker's default number of batches in flight.
    static var defaultLoops: Int { Machine.processorCount + 1 }

    /// Runs `body` with a queue that keeps a worker's state, such as the low-water mark, from call to call.
    static func with<T: Sendable>(url: String, batch: Int, _ body: (QueueDrain) async throws -> T) async throws -> T {
        let pool = ConnectionPool(
            options: try ConnectionOptions(url),
            configuration: ConnectionPool.Configuration(maxConnections: defaultLoops),
            logger: .silent
        )
        var configuration = EventQueue<Void>.Configuration()
        configuration.batchEvents = batch
        let queue = EventQueue<Void>(
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

    /// Takes batches until no event is due. Returns the number of settled events.
    func run() async throws -> Int {
        try await run { _ in false }
    }

    /// Takes batches until `count` events are settled. Returns that time by ``SteadyClock``; nil when fewer were due.
    func end(ofFirst count: Int) async throws -> Double? {
        let end = Mutex<Double?>(nil)
        _ = try await run { total in
            guard total >= count else { return false }
            end.withLock { $0 = $0 ?? SteadyClock.now() }
            return true
        }
        return end.withLock(\.self)
    }

    /// - Parameter isOver: called with the number of events settled so far.
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
