import ArgumentParser
import Benchmarks

/// `appstore-inbox-lab bench history`.
struct BenchHistory: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "history",
        abstract: "Measures how fast a worker reads a month of Apple's notification history, its memory, and the statements of a page.",
        discussion: """
            The history is simulated in this process, without a limit; the worker's own budget is Apple's limit, fifty pages a second for \
            each app. A record takes about 20 kB of disk.
            """
    )

    @Option(help: "Notifications of the last month, of all apps.") var records = 1_000_000
    @Option(help: "Apps; each has a budget of its own.") var apps = 4
    @OptionGroup var options: BenchOptions

    func validate() throws {
        guard records >= apps, apps > 0 else { throw ValidationError("each app must have a record") }
        guard apps <= 50, records <= 10_000_000 else { throw ValidationError("at most 50 apps and 10,000,000 records") }
    }

    func run() async throws {
        try await options.run(Self.self) { environment in
            var benchmark = HistoryBenchmark()
            benchmark.records = records
            benchmark.apps = apps
            return try await benchmark.run(in: environment)
        }
    }
}
