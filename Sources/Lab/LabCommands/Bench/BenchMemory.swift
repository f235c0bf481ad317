import ArgumentParser
import Benchmarks

/// `appstore-inbox-lab bench memory`.
struct BenchMemory: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "memory",
        abstract: "Measures the peak memory of ingest under load, and of a worker with a backlog of a million events.",
        discussion: "Both from VmHWM of /proc/PID/status. Needs about 3 GB of disk."
    )

    @Option(help: "Notifications in the backlog, in Apple's sizes.") var events = 10_000
    @Option(help: "Tiny events in the backlog, which are refused.") var tinyEvents = 1_000_000
    @Option(help: "Seconds for each of the two.") var seconds = 20
    @OptionGroup var options: BenchOptions

    func validate() throws {
        guard events > 0, tinyEvents >= 0, seconds > 0 else { throw ValidationError("each number must be at least 1") }
    }

    func run() async throws {
        try await options.run(Self.self) { environment in
            var benchmark = MemoryBenchmark()
            benchmark.events = events
            benchmark.tinyEvents = tinyEvents
            benchmark.seconds = seconds
            return try await benchmark.run(in: environment)
        }
    }
}
