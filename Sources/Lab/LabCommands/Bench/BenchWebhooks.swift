import ArgumentParser
import Benchmarks

/// `appstore-inbox-lab bench webhooks`.
struct BenchWebhooks: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "webhooks",
        abstract: "Measures how fast one worker delivers webhooks, alone and beside a dead endpoint.",
        discussion: """
            The receivers are this process, on the same cores. Entries are small (user.forgotten). The dead endpoint refuses connections, and is \
            behind by as many entries as --behind says. Needs about 1 kB of disk for each of them.
            """
    )

    @Option(help: "Entries that are delivered to each endpoint.") var entries = 20_000
    @Option(help: "Endpoints.") var endpoints = 4
    @Option(help: "Entries that the dead endpoint has not got.") var behind = 1_000_000
    @Option(help: "Entries a second while the time to their arrival is measured.") var rate = 500
    @Option(help: "How long that takes.") var seconds = 20
    @Option(help: "Measurements of each figure.") var rounds = 3
    @OptionGroup var options: BenchOptions

    func validate() throws {
        guard [entries, endpoints, behind, rate, seconds, rounds].allSatisfy({ $0 > 0 }) else {
            throw ValidationError("each number must be at least 1")
        }
        guard rate % 10 == 0 else { throw ValidationError("--rate must be a multiple of 10") }
        try options.requireSameBuild(for: "webhooks")
    }

    func run() async throws {
        try await options.run(Self.self) { environment in
            var benchmark = WebhookBenchmark()
            (benchmark.entries, benchmark.endpoints, benchmark.behind, benchmark.rounds) = (entries, endpoints, behind, rounds)
            (benchmark.rate, benchmark.seconds) = (rate, seconds)
            return try await benchmark.run(in: environment)
        }
    }
}
