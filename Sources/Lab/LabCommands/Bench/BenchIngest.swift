import ArgumentParser
import Benchmarks

/// `appstore-inbox-lab bench ingest`.
struct BenchIngest: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ingest",
        abstract: "Measures how many notifications ingest stores, each answered with 200 after its commit.",
        discussion: """
            The yardstick is pgbench -M prepared, inserting the same rows into the same tables one by one over as many connections. The report \
            includes the load generator's processor time. Then the time to an answer is measured at half of that load. Needs about 1 GB of disk \
            for ten seconds.
            """
    )

    @Option(help: "Measurements of each side.") var rounds = 5
    @Option(help: "Seconds for each side in each round.") var seconds = 10
    @Option(help: "Connections.") var connections = 64
    @Option(name: .customLong("bytes"), help: "The size of the bodies; may be repeated (default: 18900 and 6000).") var sizes: [Int] = []
    @OptionGroup var options: BenchOptions

    func validate() throws {
        guard rounds > 0, seconds > 0 else { throw ValidationError("each number must be at least 1") }
        // PostgreSQL allows a hundred connections by default; the length of a command-line argument is limited, too.
        guard (1...90).contains(connections) else { throw ValidationError("--connections is from 1 to 90") }
        guard sizes.allSatisfy((100...100_000).contains) else { throw ValidationError("--bytes is from 100 to 100000") }
    }

    func run() async throws {
        try await options.run(Self.self) { environment in
            var benchmark = IngestBenchmark()
            benchmark.rounds = rounds
            benchmark.seconds = seconds
            benchmark.connections = connections
            if !sizes.isEmpty { benchmark.sizes = sizes }
            return try await benchmark.run(in: environment)
        }
    }
}
