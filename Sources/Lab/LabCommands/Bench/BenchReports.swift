import ArgumentParser
import Benchmarks

/// `appstore-inbox-lab bench reports`.
struct BenchReports: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reports",
        abstract: "Measures how long the reports take over many charges.",
        discussion: "Ten million charges take some 8 GB of disk."
    )

    @Option(help: "Charges.") var charges = 10_000_000
    @Option(help: "Measurements.") var rounds = 3
    @OptionGroup var options: BenchOptions

    func validate() throws {
        try options.requireSameBuild(for: "reports")
        guard [charges, rounds].allSatisfy({ $0 > 0 }) else { throw ValidationError("each number must be at least 1") }
    }

    func run() async throws {
        try await options.run(Self.self) { environment in
            var benchmark = ReportsBenchmark()
            benchmark.charges = charges
            benchmark.rounds = rounds
            return try await benchmark.run(in: environment)
        }
    }
}
