import InboxTesting
import LivesTesting
import Postgres
import PostgresTesting
import Randomness
import Testing

/// Signed events through the real inbox and real workers, some of which crash.
struct WorkerTests {
    static let lives = Seed.lives("LIVES_WORKER", usually: 200)

    /// The concurrency and crashes of one database's workers.
    struct Scenario: Sendable, CustomTestStringConvertible {
        let batchesAtOnce: Int
        let crashes: Bool
        let part: Int

        var testDescription: String { "\(batchesAtOnce) at once\(crashes ? ", with crashes" : "")" }
    }

    /// The expected reasons of rejection: wrong app, no app, or a posted receipt that is not genuine.
    static let reasons: Set<String> = [
        "wrong_bundle", "bundle_mismatch", "bundle_missing", "untrusted_root", "certificate_signature_invalid", "receipt_malformed",
        "receipt_not_base64", "not_a_receipt",
    ]

    static let scenarios = [
        Scenario(batchesAtOnce: 1, crashes: false, part: 0), Scenario(batchesAtOnce: 4, crashes: false, part: 1),
        Scenario(batchesAtOnce: 1, crashes: true, part: 2), Scenario(batchesAtOnce: 4, crashes: true, part: 3),
    ]

    @Test(arguments: scenarios) func `workers produce the same ledger, one or many, crashing or not`(scenario: Scenario) async throws {
        let bodies = try SignedBodies.genuine.get()
        let lives = try await PreparedLife.make(
            stride(from: scenario.part, to: Self.lives, by: Self.scenarios.count),
            receiptText: bodies.text
        )
        let histories = lives.map(\.history)
        var generator = SeededGenerator(seed: Seed.current ^ UInt64(scenario.part))
        let ledger = try await LedgerFixture.open()
        let foreign = histories.compactMap { $0.events.lazy.compactMap(\.inAnotherApp).first }
        try await bodies.receive(histories.flatMap(\.events) + foreign, in: ledger.database, using: &generator)
        let runner = WorkerRunner(ledger: ledger, verifier: try bodies.verifier(), receipts: try bodies.receiptVerifier(), logger: .silent)
        let commands = lives.commands.shuffled(using: &generator)
        if scenario.crashes {
            let crashes = try await runner.work(batchesAtOnce: scenario.batchesAtOnce, while: commands, crashing: &generator)
            #expect(crashes > 0)
        } else {
            try await runner.work(batchesAtOnce: scenario.batchesAtOnce, while: commands)
        }
        let difference = LedgerDifference.between(expected: await lives.lines(), found: try await ledger.lines())
        #expect(difference.isEmpty, "LIVES_SEED=\(Seed.current)\n\(difference.joined(separator: "\n"))")
        let derivedAgain = try await ledger.differencesWhenDerivedAgain()
        #expect(derivedAgain.isEmpty, "LIVES_SEED=\(Seed.current)\n\(derivedAgain.prefix(20).joined(separator: "\n"))")
        #expect(try await ledger.database.eventsNotExactlyOnce() == [])
        let results = try await ledger.database.lines(
            "SELECT DISTINCT result || coalesce(' ' || last_error, '') FROM appstore.outcomes ORDER BY 1"
        )
        #expect(Set(results).isSubset(of: ["applied", "superseded", "duplicate", "no_effect", "unhandled", "rejected"]), "\(results)")
        let reasons = try await ledger.database.lines("SELECT DISTINCT reason FROM appstore.outcomes WHERE result = 'rejected'")
        #expect(reasons.contains("wrong_bundle"))
        #expect(Set(reasons).isSubset(of: Self.reasons), "\(reasons)")
        try await ledger.close()
    }
}
