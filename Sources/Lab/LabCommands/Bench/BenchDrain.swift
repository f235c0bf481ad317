import ArgumentParser
import Benchmarks

/// `appstore-inbox-lab bench drain`.
struct BenchDrain: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "drain",
        abstract: "Measures how fast one worker process settles a backlog of notifications of all types.",
        discussion: """
            The yardstick is openssl speed -elapsed ecdsap256: its verifications a second, divided by the JWS per event, times the cores. \
            With --queue-only nothing is verified or merged: claim, outcome, delete, beside an UPDATE … SKIP LOCKED claim and DELETE in \
            pgbench, both with and without a snapshot held by another session. --hold 600 then settles events for ten minutes under one \
            snapshot and measures for three minutes more, in turns with a copy of the database of which no snapshot is held. Needs about \
            60 kB of disk for each event, or 2 kB with --queue-only, those that were settled before included; --hold takes twice that.
            """
    )

    @Flag(help: "Measure the queue alone.") var queueOnly = false
    @Option(help: "Notifications in the backlog (default: 100000, or 50000 with --queue-only).") var events: Int?
    @Option(help: "Measurements of each figure (default: 3, or 5 with --queue-only).") var rounds: Int?
    @Option(help: "Seconds for the yardstick in each round.") var yardstickSeconds = 3
    @Option(help: "The seed of the simulated customers.") var seed: UInt64 = 1
    @Option(help: "Batches in flight; the worker's default unless given.") var concurrency: Int?
    @Option(help: "Events in a batch (default: the worker's, or 50 with --queue-only).") var batchSize: Int?
    @Option(help: "With --queue-only: events that are scheduled for a later time (default: 10000).") var waiting: Int?
    @Option(help: "With --queue-only: events that were settled before (default: 1000000).") var settled: Int?
    @Option(help: "With --queue-only: after the rounds, settle events under one snapshot for so many seconds.") var hold: Int?
    @OptionGroup var options: BenchOptions

    func validate() throws {
        let numbers = [events, rounds, yardstickSeconds, concurrency, batchSize, hold].compactMap(\.self)
        guard numbers.allSatisfy({ $0 > 0 }) else { throw ValidationError("each number must be at least 1") }
        let ofQueue = [waiting, settled, hold].compactMap(\.self)
        guard ofQueue.allSatisfy({ $0 >= 0 }) else { throw ValidationError("--waiting and --settled are not negative") }
        guard queueOnly || ofQueue.isEmpty else { throw ValidationError("--waiting, --settled and --hold go with --queue-only") }
        if queueOnly { try options.requireSameBuild(for: "--queue-only") }
        guard !queueOnly || concurrency == nil else { throw ValidationError("--concurrency does not go with --queue-only") }
    }

    func run() async throws {
        try await options.run(Self.self) { environment in
            queueOnly ? try await queue.run(in: environment) : try await drain.run(in: environment)
        }
    }

    private var drain: DrainBenchmark {
        var benchmark = DrainBenchmark()
        benchmark.events = events ?? benchmark.events
        benchmark.rounds = rounds ?? benchmark.rounds
        benchmark.yardstickSeconds = yardstickSeconds
        benchmark.seed = seed
        if let concurrency { benchmark.workerSettings["CONCURRENCY"] = "\(concurrency)" }
        if let batchSize { benchmark.workerSettings["BATCH_SIZE"] = "\(batchSize)" }
        return benchmark
    }

    private var queue: QueueBenchmark {
        var benchmark = QueueBenchmark()
        benchmark.events = events ?? benchmark.events
        benchmark.rounds = rounds ?? benchmark.rounds
        benchmark.batch = batchSize ?? benchmark.batch
        benchmark.waiting = waiting ?? benchmark.waiting
        benchmark.settled = settled ?? benchmark.settled
        benchmark.yardstickSeconds = yardstickSeconds
        benchmark.hold = hold
        return benchmark
    }
}
