import Glibc
import InboxQueue
import Logging
import Postgres
import ServiceLifecycle
import UnixSignals

/// The real worker and queue with events that kill their process or are slow. The first byte of a body selects a ``Poison``, which acts while
/// the event is prepared or merged.
///
/// Prints `event ID` before it prepares an event. No watchdog of systemd is behind it: the process must end a hanging computation itself.
@main struct PoisonedWorker {
    static func main() async throws {
        guard CommandLine.arguments.count == 3 else { fatalError("usage: PoisonedWorker DATABASE-URL fast|production") }
        let isFast = CommandLine.arguments[2] == "fast"
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
            configuration: isFast ? fast : production,
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
        if isFast { configuration.recoveryPause = .milliseconds(100) }
        let service = WorkerService(
            queue: queue,
            configuration: configuration,
            logger: logger
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

    /// With fewer attempts, so that a slow event is not retried for hours.
    private static var production: QueueConfiguration {
        var configuration = QueueConfiguration()
        configuration.maximumAttempts = 2
        return configuration
    }

    /// With short timeouts.
    private static var fast: QueueConfiguration {
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
    /// SIGKILL, as when memory runs out.
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
