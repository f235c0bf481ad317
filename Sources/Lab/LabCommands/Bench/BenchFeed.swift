import ArgumentParser
import Benchmarks

/// `appstore-inbox-lab bench feed`.
struct BenchFeed: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "feed",
        abstract: "Measures what the feed costs, and how fast changes get their positions.",
        discussion: """
            The yardstick of numbering, which one session does, is the rate of a worker with the feed on; that of the worker is its own rate \
            with the feed off. For deliveries, only what PostgreSQL writes is measured, without HTTP: a cursor for each endpoint beside a row \
            for each entry and endpoint. Needs about 60 kB of disk for each event.
            """
    )

    @Option(help: "Notifications in the backlog.") var events = 40_000
    @Option(help: "Measurements of each figure.") var rounds = 3
    @Option(help: "Entries that are delivered to each endpoint.") var entries = 20_000
    @Option(help: "Endpoints.") var endpoints = 4
    @Option(help: "The seed of the simulated customers.") var seed: UInt64 = 1
    @OptionGroup var options: BenchOptions

    func validate() throws {
        guard [events, rounds, entries, endpoints].allSatisfy({ $0 > 0 }) else { throw ValidationError("each number must be at least 1") }
        try options.requireSameBuild(for: "feed")
    }

    func run() async throws {
        try await options.run(Self.self) { environment in
            var benchmark = FeedBenchmark()
            (benchmark.events, benchmark.rounds, benchmark.entries, benchmark.endpoints) = (events, rounds, entries, endpoints)
            benchmark.seed = seed
            return try await benchmark.run(in: environment)
        }
    }
}
