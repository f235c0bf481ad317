import ArgumentParser
import Benchmarks

/// `appstore-inbox-lab bench latency`.
struct BenchLatency: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "latency",
        abstract: "Measures the time from a POST to its outcome.",
        discussion: """
            Notifications of all types are posted to ingest at even intervals while one worker runs. The time ends when another session of \
            PostgreSQL sees the outcome.
            """
    )

    @Option(help: "Events a second.") var rate = 500
    @Option(help: "Seconds in each round.") var seconds = 20
    @Option(help: "The number of rounds.") var rounds = 3
    @Option(help: "The seed of the simulated customers.") var seed: UInt64 = 1
    @OptionGroup var options: BenchOptions

    func validate() throws {
        guard rate > 0, rounds > 0, seconds > 0 else { throw ValidationError("each number must be at least 1") }
    }

    func run() async throws {
        try await options.run(Self.self) { environment in
            var benchmark = LatencyBenchmark()
            benchmark.rate = rate
            benchmark.seconds = seconds
            benchmark.rounds = rounds
            benchmark.seed = seed
            return try await benchmark.run(in: environment)
        }
    }
}
