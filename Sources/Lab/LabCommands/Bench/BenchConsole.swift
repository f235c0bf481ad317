import ArgumentParser
import Benchmarks

/// `appstore-inbox-lab bench console`.
struct BenchConsole: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "console",
        abstract: "Measures how long the pages of the console take in a large installation.",
        discussion: """
            The installation has run for a hundred days; the reports, which are computed from all charges, have no aim. Ten million outcomes take \
            some 12 GB of disk.
            """
    )

    @Option(help: "Outcomes.") var outcomes = 10_000_000
    @Option(help: "Requests for each page.") var requests = 100
    @OptionGroup var options: BenchOptions

    func validate() throws {
        guard outcomes >= 100_000, requests > 0 else { throw ValidationError("--outcomes must be at least 100000, --requests at least 1") }
    }

    func run() async throws {
        try await options.run(Self.self) { environment in
            var benchmark = ConsoleBenchmark()
            benchmark.outcomes = outcomes
            benchmark.requests = requests
            return try await benchmark.run(in: environment)
        }
    }
}
