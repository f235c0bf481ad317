import ArgumentParser
import Benchmarks

/// `appstore-inbox-lab bench verify`.
struct BenchVerify: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Measures how many full notifications one core verifies and decodes.",
        discussion: "The yardstick is openssl speed -elapsed ecdsap256: its verifications a second, divided by the three JWS of a renewal."
    )

    @Option(help: "Different notifications, verified in turn.") var events = 2000
    @Option(help: "Measurements of each side.") var rounds = 5
    @Option(help: "Seconds for each side in each round.") var seconds = 3
    @OptionGroup var options: BenchOptions

    func validate() throws {
        try options.requireSameBuild(for: "verify")
        guard events > 0, rounds > 0, seconds > 0 else { throw ValidationError("each number must be at least 1") }
    }

    func run() async throws {
        try await options.run(Self.self) { environment in
            var benchmark = VerifyBenchmark()
            benchmark.events = events
            benchmark.rounds = rounds
            benchmark.seconds = seconds
            return try await benchmark.run(in: environment)
        }
    }
}
