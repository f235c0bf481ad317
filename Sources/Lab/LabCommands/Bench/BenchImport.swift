import ArgumentParser
import Benchmarks

/// `appstore-inbox-lab bench import`.
struct BenchImport: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Measures how many customers of a file are asked about and stored in a second, where Apple's limit is none.",
        discussion: "The simulated App Store Server API runs in this process, on the same cores. Apple allows about 50 requests a second."
    )

    @Option(help: "Customers, each with a subscription.") var customers = 100_000
    @Option(help: "Measurements.") var rounds = 3
    @Option(help: "Requests in flight.") var slots = 16
    @Option(help: "The seed of the simulated customers.") var seed: UInt64 = 1
    @OptionGroup var options: BenchOptions

    func validate() throws {
        try options.requireSameBuild(for: "import")
        guard [customers, rounds, slots].allSatisfy({ $0 > 0 }) else { throw ValidationError("each number must be at least 1") }
    }

    func run() async throws {
        try await options.run(Self.self) { environment in
            var benchmark = ImportBenchmark()
            benchmark.customers = customers
            benchmark.rounds = rounds
            benchmark.slots = slots
            benchmark.seed = seed
            return try await benchmark.run(in: environment)
        }
    }
}
