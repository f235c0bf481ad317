import ArgumentParser
import Benchmarks

/// `appstore-inbox-lab bench receipts`.
struct BenchReceipts: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "receipts",
        abstract: "Measures how many app receipts are verified and merged, and with how many statements.",
        discussion: """
            The yardsticks are openssl speed -elapsed rsa2048, its verifications a second divided by the three signatures of a receipt, and \
            a transaction of pgbench with one upsert for each purchase.
            """
    )

    @Option(help: "Purchases in each receipt.") var purchases = 187
    @Option(help: "Receipts, each of another customer.") var receipts = 400
    @Option(help: "Measurements of each figure.") var rounds = 3
    @Option(help: "Seconds for each yardstick, and for verification, in each round.") var seconds = 3
    @OptionGroup var options: BenchOptions

    func validate() throws {
        try options.requireSameBuild(for: "receipts")
        guard [purchases, receipts, rounds, seconds].allSatisfy({ $0 > 0 }) else { throw ValidationError("each number must be at least 1") }
        guard purchases <= 1000 else { throw ValidationError("--purchases must be at most 1000") }
    }

    func run() async throws {
        try await options.run(Self.self) { environment in
            var benchmark = ReceiptBenchmark()
            benchmark.purchases = purchases
            benchmark.receipts = receipts
            benchmark.rounds = rounds
            benchmark.seconds = seconds
            return try await benchmark.run(in: environment)
        }
    }
}
