import Glibc
import InboxQueue
import Logging
import Postgres
import ServiceLifecycle
import UnixSignals
import Worker

/// The real worker and the real queue, with events that kill their process or take long: what the first byte of a body says is done while it
/// is prepared or merged.
///
/// Prints `event ID` for each event before anything is done with it. No watchdog is behind it: what hangs has to be ended from within.
@main struct PoisonedWorker {
    static func main() async throws {
        guard CommandLine.arguments.count == 3 else { fatalError("usage: PoisonedWorker DATABASE-URL hasty|earnest") }
        let isHasty = CommandLine.arguments[2] == "hasty"
        var logger = Logger(label: "poisoned-worker")
        logger.logLevel = .warning
        let loops = 2
        let pool = ConnectionPool(
            options: try ConnectionOptions(CommandLine.arguments[1]),
            configuration: ConnectionPool.Configuration(maxConnections: loops + 1),
            logger: logger
        )
        let queue = EventQueue<EventProcessor.Prepared>(
            pool: pool,
            configuration: isHasty ? hasty : earnest,
            logger: logger,
            prepare: { event in
                report("event \(event.eventID)")
                let poison = event.body.first.flatMap(Poison.init)
                await poison?.act()
                guard let poison, poison.isOfMerge else { return .settled(.outcome(Outcome(.applied))) }
                return .unusableAnswer(eventID: event.eventID, Outcome(.applied, reason: "\(poison.rawValue)"))
            },
            merge: { prepared, transaction in
                for case .unusableAnswer(_, let outcome) in prepared {
                    try await outcome.reason.flatMap(UInt8.init).flatMap(Poison.init)?.act(in: transaction)
                }
                try await transaction.execute("SELECT")
                return prepared.map { event in
                    switch event {
                    case .settled(let settlement): settlement
                    case .unusableAnswer(_, let outcome): .outcome(outcome)
                    case .facts: .outcome(Outcome(.unhandled, reason: "by_test"))
                    }
                }
            }
        )
        var configuration = WorkerService.Configuration(concurrency: loops)
        if isHasty { configuration.recoveryPause = .milliseconds(100) }
        let service = WorkerService(
            queue: queue,
            configuration: configuration,
            logger: logger,
            heartbeat: .init(beat: { _ in }, finish: { _ in })
        )
        let group = ServiceGroup(
            configuration: .init(
                services: [.init(service: pool), .init(service: service)],
                gracefulShutdownSignals: [.sigterm],
                logger: logger
            )
        )
        try await group.run()
    }

    /// What is slow is not tried for hours.
    private static var earnest: QueueConfiguration {
        var configuration = QueueConfiguration()
        configuration.retry.maximumAttempts = 2
        return configuration
    }

    /// As in earnest, but with less waiting where nothing is decided by it.
    private static var hasty: QueueConfiguration {
        var configuration = QueueConfiguration()
        configuration.batchEvents = 6
        configuration.computeTimeout = .milliseconds(500)
        configuration.isolatedGrace = .milliseconds(300)
        return configuration
    }

    private static func report(_ line: String) {
        let bytes = Array((line + "\n").utf8)
        _ = write(1, bytes, bytes.count)
    }
}

/// What an event does to its process.
enum Poison: UInt8 {
    /// As the kernel does when memory runs out.
    case isKilled = 2
    case readsNowhere = 3
    case traps = 4
    case neverEnds = 5
    /// One statement does not end.
    case isSlowToMerge = 6
    /// It ends when it is cancelled.
    case isSlowToPrepare = 7
    /// It computes for ever when it is merged.
    case neverEndsToMerge = 8
    /// The server refuses it.
    case failsToMerge = 9
    /// The server refuses it after a while.
    case isSlowToFailToMerge = 10

    var isOfMerge: Bool { rawValue == 6 || rawValue >= 8 }

    func act() async {
        switch self {
        case .isKilled: kill(getpid(), SIGKILL)
        case .readsNowhere: raise(SIGSEGV)
        case .traps: abort()
        case .neverEnds: while true { _ = pause() }
        case .isSlowToPrepare: do { try await Task.sleep(for: .seconds(3600)) } catch {}
        case .isSlowToMerge, .neverEndsToMerge, .failsToMerge, .isSlowToFailToMerge: return
        }
    }

    func act(in transaction: Transaction) async throws {
        switch self {
        case .isSlowToMerge: try await transaction.execute("SELECT pg_sleep(3600)")
        case .neverEndsToMerge: while true { _ = pause() }
        case .failsToMerge: try await transaction.execute("SELECT 1 / 0")
        case .isSlowToFailToMerge: try await transaction.execute("SELECT 1 / length(pg_sleep(0.3)::text)")
        case .isKilled, .readsNowhere, .traps, .neverEnds, .isSlowToPrepare: return
        }
    }
}
