import AppStore
import Inbox
import InboxTesting
import LivesTesting
import Postgres
import PostgresTesting
import Randomness
import Testing

/// Really signed events through the real inbox and worker, which is hurt while it works.
struct WorkerTests {
    static let lives = Seed.lives("LIVES_WORKER", usually: 200)

    /// How the workers of one database are to fare.
    struct Fate: Sendable, CustomTestStringConvertible {
        let batchesAtOnce: Int
        let crashes: Bool
        let part: Int

        var testDescription: String { "\(batchesAtOnce) at once\(crashes ? ", with crashes" : "")" }
    }

    /// Why something of what comes in is refused: it is another app's, nobody's, or a post of a receipt that is not genuine.
    static let reasons: Set<String> = [
        "wrong_bundle", "bundle_mismatch", "bundle_missing", "untrusted_root", "certificate_signature_invalid", "receipt_malformed",
        "receipt_not_base64", "not_a_receipt",
    ]

    static let fates = [
        Fate(batchesAtOnce: 1, crashes: false, part: 0), Fate(batchesAtOnce: 4, crashes: false, part: 1),
        Fate(batchesAtOnce: 1, crashes: true, part: 2), Fate(batchesAtOnce: 4, crashes: true, part: 3),
    ]

    @Test(arguments: fates) func `workers keep the same books, one or many, crashing or not`(fate: Fate) async throws {
        let bodies = try SignedBodies.genuine.get()
        let lives = try await PreparedLife.make(
            stride(from: fate.part, to: Self.lives, by: Self.fates.count),
            receiptText: bodies.text
        )
        let histories = lives.map(\.history)
        var generator = SeededGenerator(seed: Seed.current ^ UInt64(fate.part))
        let hall = try await BookHall.open()
        let foreign = histories.compactMap { $0.events.lazy.compactMap(\.inAnotherApp).first }
        try await bodies.receive(histories.flatMap(\.events) + foreign, in: hall.database, using: &generator)
        let crew = WorkerCrew(hall: hall, verifier: try bodies.verifier(), receipts: try bodies.receiptVerifier(), logger: .silent)
        let commands = lives.commands.shuffled(using: &generator)
        if fate.crashes {
            let crashes = try await crew.work(batchesAtOnce: fate.batchesAtOnce, while: commands, crashing: &generator)
            #expect(crashes > 0)
        } else {
            try await crew.work(batchesAtOnce: fate.batchesAtOnce, while: commands)
        }
        let difference = BookDifference.between(expected: await lives.lines(), found: try await hall.lines())
        #expect(difference.isEmpty, "LIVES_SEED=\(Seed.current)\n\(difference.joined(separator: "\n"))")
        #expect(try await hall.database.eventsNotExactlyOnce() == [])
        let results = try await hall.database.lines(
            "SELECT DISTINCT result || coalesce(' ' || last_error, '') FROM appstore.outcomes ORDER BY 1"
        )
        #expect(Set(results).isSubset(of: ["applied", "superseded", "duplicate", "no_effect", "unhandled", "rejected"]), "\(results)")
        let reasons = try await hall.database.lines("SELECT DISTINCT reason FROM appstore.outcomes WHERE result = 'rejected'")
        #expect(reasons.contains("wrong_bundle"))
        #expect(Set(reasons).isSubset(of: Self.reasons), "\(reasons)")
        try await hall.close()
    }
}
