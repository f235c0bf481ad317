import Glibc
import Inbox
import Logging
import Postgres
import ServiceLifecycle
import Synchronization
import UnixSignals
import Worker

/// The real worker and the real queue, with events that kill their process: what the first byte of a body says is done while it is prepared.
///
/// Prints `batch ID,ID,…` for each batch before anything is done with it. A watchdog like systemd's kills the process when a loop has not come round.
@main struct PoisonedWorker {
    static func main() async throws {
        guard CommandLine.arguments.count == 2 else { fatalError("usage: PoisonedWorker DATABASE-URL") }
        var logger = Logger(label: "poisoned-worker")
        logger.logLevel = .warning
        let loops = 2
        let pool = ConnectionPool(
            options: try ConnectionOptions(CommandLine.arguments[1]),
            configuration: ConnectionPool.Configuration(maxConnections: loops),
            logger: logger
        )
        let queue = InboxQueue<EventProcessor.Prepared>(
            pool: pool,
            configuration: queueConfiguration,
            logger: logger,
            prepare: { events in
                report("batch " + events.map { "\($0.eventID)" }.joined(separator: ","))
                return events.map { event in
                    event.body.first.flatMap(Poison.init)?.act()
                    return .settled(.outcome(Outcome(.applied)))
                }
            },
            merge: { prepared, _ in
                prepared.map { event in
                    if case .settled(let settlement) = event { settlement } else { .outcome(Outcome(.unhandled, reason: "by_test")) }
                }
            }
        )
        var configuration = WorkerService.Configuration(concurrency: loops)
        configuration.maximumSleep = .milliseconds(200)
        configuration.lookPause = .milliseconds(100)
        let watchdog = Watchdog(loops: loops)
        let service = WorkerService(
            queue: queue,
            configuration: configuration,
            logger: logger,
            heartbeat: .init(beat: watchdog.beat, finish: watchdog.finish)
        )
        watchdog.start()
        let group = ServiceGroup(
            configuration: .init(
                services: [.init(service: pool), .init(service: service)],
                gracefulShutdownSignals: [.sigterm],
                logger: logger
            )
        )
        try await group.run()
    }

    /// As in earnest, but with less waiting.
    private static var queueConfiguration: QueueConfiguration {
        var configuration = QueueConfiguration()
        configuration.batchEvents = 6
        configuration.maximumPatience = .seconds(1)
        configuration.suspectPatience = .seconds(1)
        configuration.grace = .milliseconds(300)
        configuration.deaths.baseDelay = .milliseconds(50)
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

    func act() {
        switch self {
        case .isKilled: kill(getpid(), SIGKILL)
        case .readsNowhere: raise(SIGSEGV)
        case .traps: abort()
        case .neverEnds: while true { pause() }
        }
    }
}

/// Kills the process when one of its loops has been silent for too long.
final class Watchdog: Sendable {
    private let beats: Mutex<[Int: ContinuousClock.Instant]>
    private static let limit = Duration.seconds(3)

    init(loops: Int) {
        beats = Mutex(Dictionary(uniqueKeysWithValues: (0..<loops).map { ($0, .now) }))
    }

    @Sendable func beat(_ loop: Int) {
        beats.withLock { $0[loop] = .now }
    }

    @Sendable func finish(_ loop: Int) {
        _ = beats.withLock { $0.removeValue(forKey: loop) }
    }

    func start() {
        var thread = pthread_t()
        pthread_create(
            &thread,
            nil,
            { context in
                guard let context else { return nil }
                Unmanaged<Watchdog>.fromOpaque(context).takeRetainedValue().watch()
            },
            Unmanaged.passRetained(self).toOpaque()
        )
    }

    private func watch() -> Never {
        while true {
            usleep(100_000)
            if beats.withLock({ $0.values.contains { $0 < .now - Self.limit } }) { kill(getpid(), SIGKILL) }
        }
    }
}
