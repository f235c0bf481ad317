import ArgumentParser
import Benchmarks

/// `appstore-inbox-lab bench flat`.
struct BenchFlat: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "flat",
        abstract: "Measures whether a worker stays as fast when millions of events were settled before.",
        discussion: """
            The yardstick is its own rate in an empty database. Needs about 600 bytes of disk for each settled event, and 60 kB for each \
            notification, round and database.
            """
    )

    @Option(help: "Notifications drained in each measurement.") var events = 10_000
    @Option(help: "Measurements of each database.") var rounds = 3
    @Option(help: "Events that were settled before; may be repeated (default: 1000000 and 10000000).") var settled: [Int] = []
    @Option(help: "The seed of the simulated customers.") var seed: UInt64 = 1
    @OptionGroup var options: BenchOptions

    func validate() throws {
        guard events > 0, rounds > 0 else { throw ValidationError("each number must be at least 1") }
        guard settled.allSatisfy({ $0 > 0 }), Set(settled).count == settled.count else {
            throw ValidationError("each --settled must be at least 1 and different from the others")
        }
    }

    func run() async throws {
        try await options.run(Self.self) { environment in
            var benchmark = FlatBenchmark()
            benchmark.events = events
            benchmark.rounds = rounds
            if !settled.isEmpty { benchmark.settled = settled }
            benchmark.seed = seed
            return try await benchmark.run(in: environment)
        }
    }
}
