import InboxTesting
import Logging
import Postgres
import PostgresTesting
import ServiceLifecycle
import ServiceSupport
import Synchronization
import Testing

@testable import InboxQueue

/// The worker's loops and its look for lost batches, with events that do what a test says.
struct WorkerServiceTests {
    private typealias Queue = EventQueue<EventProcessor.Prepared>

    private let database: TestDatabase

    init() async throws {
        database = try await InboxDatabase.make()
    }

    private func receive(_ body: String) async throws {
        try await database.withConnection(user: "appstore_ingest") { connection in
            _ = try await connection.execute("SELECT appstore.receive(\([Array(body.utf8)]))")
        }
    }

    /// Runs a service until `body` is through, then ends it as SIGTERM would.
    private func run(
        _ configuration: WorkerService.Configuration,
        logger: Logger = .silent,
        beat: @escaping @Sendable (Int) -> Void = { _ in },
        prepare: @escaping @Sendable (ClaimedEvent) async -> Void = { _ in },
        merge: @escaping @Sendable (Transaction) async throws -> Void = { _ in },
        whileEnding: () -> Void = {},
        during body: () async throws -> Void
    ) async throws {
        let pool = try database.pool(user: "appstore_worker")
        var patient = QueueConfiguration()
        patient.computeTimeout = .seconds(60)
        patient.grace = .seconds(3600)
        let queue = Queue(
            pool: pool,
            configuration: patient,
            logger: .silent,
            prepare: { event in
                await prepare(event)
                return .settled(.outcome(Outcome(.applied)))
            },
            merge: { prepared, transaction in
                try await merge(transaction)
                return prepared.map { _ in .outcome(Outcome(.applied)) }
            }
        )
        let loops = Atomic(0)
        let service = WorkerService(queue: queue, configuration: configuration, logger: logger) {
            let loop = loops.add(1, ordering: .relaxed).oldValue
            return LoopHeartbeat(beat: { beat(loop) }, finish: {})
        }
        let group = ServiceGroup(services: [service], logger: .silent)
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await group.run() }
            try await body()
            await group.triggerGracefulShutdown()
            whileEnding()
            try await tasks.waitForAll()
        }
        await pool.close()
    }

    @Test(.timeLimit(.minutes(2)))
    func `while the leader is busy with its batch, a follower finds what comes`() async throws {
        let beats = Mutex<[Int: Int]>([:])
        let (rounds, round) = AsyncStream.makeStream(of: Void.self)
        let (settled, settle) = AsyncStream.makeStream(of: Void.self)
        let (begun, begin) = AsyncStream.makeStream(of: Void.self)
        let beginnings = Atomic(0)
        try await run(
            WorkerService.Configuration(concurrency: 2),
            beat: { loop in
                // The leader goes round while it polls; a follower does not.
                let isPolling = beats.withLock { beats in
                    beats[loop, default: 0] += 1
                    return beats[loop, default: 0] > 12
                }
                if isPolling { round.yield() }
            },
            prepare: { event in
                guard event.body == Array("first".utf8) else {
                    settle.yield()
                    return
                }
                beginnings.add(1, ordering: .relaxed)
                begin.yield()
                for await _ in settled { break }
            },
            during: {
                for await _ in rounds { break }
                try await receive("first")
                for await _ in begun { break }
                try await receive("second")
                try await database.awaitOutcomes(2)
            }
        )
        #expect(beginnings.load(ordering: .relaxed) == 1, "its batch was not given up to make room for the other")
    }

    @Test(.timeLimit(.minutes(2)))
    func `a leader whose claim has no answer is replaced`() async throws {
        let (leaders, lead) = AsyncStream.makeStream(of: Int.self)
        try await receive("any")
        let holder = try await Connection.open(ConnectionOptions(database.url()), logger: .silent)
        try await holder.runScript("BEGIN; LOCK TABLE appstore.fence IN ACCESS EXCLUSIVE MODE")
        try await run(
            WorkerService.Configuration(concurrency: 2),
            beat: { lead.yield($0) },
            during: {
                var seen: Set<Int> = []
                for await loop in leaders {
                    seen.insert(loop)
                    if seen.count == 2 { break }
                }
                try await holder.runScript("COMMIT")
                try await database.awaitOutcomes(1)
            }
        )
        await holder.close()
    }

    @Test(.timeLimit(.minutes(2)))
    func `isolated events run one after the other for as long as some are due`() async throws {
        for number in 1...6 { try await receive("event \(number)") }
        try await database.withConnection { _ = try await $0.execute("UPDATE appstore.inbox_queue SET is_isolated = true") }
        var configuration = WorkerService.Configuration(concurrency: 1)
        configuration.recoveryPause = .seconds(3600)
        try await run(
            configuration,
            merge: { try await $0.execute("SELECT pg_sleep(0.3)") },
            during: { try await database.awaitOutcomes(6) }
        )
    }

    @Test(.timeLimit(.minutes(2)))
    func `lost batches of the process before are judged at once, also where the database was away at the start`() async throws {
        try await receive("any")
        try await database.withConnection { connection in
            try await connection.runScript(
                """
                UPDATE appstore.inbox_queue SET run_at = clock_timestamp() + interval '1 hour';
                INSERT INTO appstore.batch_markers (lane, event_ids, is_alone, marked_at) VALUES (1, '{1}', false, clock_timestamp());
                ALTER TABLE appstore.batch_markers RENAME TO away;
                """
            )
        }
        let (lines, line) = AsyncStream.makeStream(of: String.self)
        var configuration = WorkerService.Configuration(concurrency: 1)
        configuration.recoveryPause = .milliseconds(5)
        try await run(
            configuration,
            logger: Logger(label: "test") { _ in LineHandler { line.yield($0) } },
            during: {
                for await line in lines where line.contains("looked for") { break }
                try await database.withConnection { _ = try await $0.execute("ALTER TABLE appstore.away RENAME TO batch_markers") }
                while try await database.lines("SELECT is_isolated::text FROM appstore.inbox_queue") != ["true"] { await Task.yield() }
            }
        )
    }

    @Test(.timeLimit(.minutes(2)), arguments: [(8, 2), (0, 6)])
    func `after a small batch the next claim waits, so that events that come one by one share a batch`(
        smallBatch: Int,
        batches: Int
    ) async throws {
        let merges = Atomic(0)
        var configuration = WorkerService.Configuration(concurrency: 1)
        configuration.smallBatch = smallBatch
        configuration.smallBatchPause = .seconds(6) ... .seconds(6)
        // A slow first batch would end its lead, and with it the reason for a pause.
        configuration.helpDelay = .seconds(60)
        try await run(
            configuration,
            merge: { _ in merges.add(1, ordering: .relaxed) },
            during: {
                for number in 1...6 {
                    try await receive("event \(number)")
                    // With the pause, all others come within it.
                    if number == 1 || smallBatch == 0 { try await database.awaitOutcomes(number) }
                }
                try await database.awaitOutcomes(6)
            }
        )
        #expect(merges.load(ordering: .relaxed) == batches)
    }

    @Test(.timeLimit(.minutes(2)))
    func `a worker that ends removes the markers of the batches that it lost`() async throws {
        var configuration = WorkerService.Configuration(concurrency: 1)
        configuration.recoveryPause = .seconds(3600)
        let (lost, lose) = AsyncStream.makeStream(of: Void.self)
        let (ending, end) = AsyncStream.makeStream(of: Void.self)
        try await receive("any")
        try await run(
            configuration,
            merge: { transaction in
                lose.yield()
                // The service has been told to end before the connection goes.
                for await _ in ending { break }
                _ = try await transaction.query("SELECT pg_terminate_backend(pg_backend_pid())")
            },
            whileEnding: { end.finish() },
            during: {
                for await _ in lost { break }
                let markers = try await database.lines("SELECT count(*)::text FROM appstore.batch_markers")
                #expect(markers == ["1"])
            }
        )
        #expect(try await database.lines("SELECT count(*)::text FROM appstore.batch_markers") == ["0"])
    }

    @Test(.timeLimit(.minutes(2))) func `looks that fail are said once, and when they succeed again`() async throws {
        try await database.withConnection { _ = try await $0.execute("ALTER TABLE appstore.batch_markers RENAME TO away") }
        let (lines, line) = AsyncStream.makeStream(of: String.self)
        var logger = Logger(label: "test") { _ in LineHandler { line.yield($0) } }
        logger.logLevel = .debug
        var configuration = WorkerService.Configuration(concurrency: 1)
        configuration.recoveryPause = .milliseconds(5)
        var said: [String] = []
        try await run(
            configuration,
            logger: logger,
            during: {
                for await line in lines where line.contains("looked for") {
                    said.append(line)
                    if said.count == 4 {
                        try await database.withConnection {
                            _ = try await $0.execute("ALTER TABLE appstore.away RENAME TO batch_markers")
                        }
                    }
                    if line.hasPrefix("notice") { break }
                }
            }
        )
        #expect(said.filter { $0.hasPrefix("warning") }.count == 1)
        #expect(said.first?.hasPrefix("warning") == true)
    }

    @Test func `a slow search for lost batches does not delay the next one for long`() {
        let configuration = WorkerService.Configuration(concurrency: 1)
        #expect(configuration.rest(afterRecoveryOf: .milliseconds(1)) == .seconds(1))
        #expect(configuration.rest(afterRecoveryOf: .milliseconds(30)) == .seconds(3))
        #expect(configuration.rest(afterRecoveryOf: .seconds(2)) == .seconds(5))
    }
}

/// Hands each line on, as `level message`.
private struct LineHandler: LogHandler {
    let write: @Sendable (String) -> Void
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.debug

    init(write: @escaping @Sendable (String) -> Void) {
        self.write = write
    }

    subscript(metadataKey key: String) -> Logger.MetadataValue? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        write("\(event.level) \(event.message)")
    }
}

extension TestDatabase {
    /// Waits until that many events have their outcome.
    fileprivate func awaitOutcomes(_ count: Int) async throws {
        while try await lines("SELECT count(*)::text FROM appstore.outcomes") != ["\(count)"] {
            try await Task.sleep(for: .milliseconds(10))
        }
    }
}
