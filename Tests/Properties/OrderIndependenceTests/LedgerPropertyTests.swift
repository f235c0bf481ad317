import InboxTesting
import LivesTesting
import Postgres
import Randomness
import Testing

/// Many customers in one real database, through the merge and the commands of workers, shop and operators.
@Suite(.serialized) struct LedgerPropertyTests {
    static let lives = Seed.lives("LIVES_POSTGRES", usually: 3000)

    /// The histories that share a database, and how they are processed.
    struct Round: Sendable, CustomTestStringConvertible {
        let lives: Range<Int>
        let largestBatch: Int
        let batchesAtOnce: Int
        /// Distinguishes rounds of the same histories.
        let repetition: Int

        /// Whether the feed is on, for every other round.
        var isTold: Bool { (lives.lowerBound / 500 + repetition) % 2 == 0 }

        var testDescription: String { "lives \(lives), batches of up to \(largestBatch), \(batchesAtOnce) at once" }
    }

    /// 500 histories for each database; with `LIVES_ONLY` that one history many times, each time in another order.
    static var rounds: [Round] {
        if let only = Seed.value("LIVES_ONLY").map(Int.init) {
            return (0..<50).map { Round(lives: only..<only + 1, largestBatch: 4, batchesAtOnce: $0 % 2 == 0 ? 1 : 4, repetition: $0) }
        }
        return stride(from: 0, to: lives, by: 500).enumerated().map { number, first in
            Round(
                lives: first..<min(first + 500, lives),
                largestBatch: number % 4 == 1 ? 50 : 400,
                batchesAtOnce: number % 4 == 2 ? 1 : 4,
                repetition: 0
            )
        }
    }

    @Test(arguments: rounds) func `the ledger is a function of the set of events and commands`(round: Round) async throws {
        let lives = try await PreparedLife.make(round.lives)
        var generator = SeededGenerator(seed: Seed.current ^ UInt64(round.lives.lowerBound) ^ UInt64(round.repetition) << 32)
        let ledger = try await LedgerFixture.open(isTold: round.isTold)
        let steps = steps(of: lives, using: &generator)
        try await ledger.process(steps, batchesOf: round.largestBatch, atOnce: round.batchesAtOnce, using: &generator)
        if round.isTold {
            try await ledger.database.sequenceFeed()
            let violations = try await ledger.database.feedViolations()
            #expect(violations.isEmpty, "LIVES_SEED=\(Seed.current)\n\(violations.prefix(20).joined(separator: "\n"))")
        }
        compare(try await ledger.lines(), with: await lives.lines())
        for instant in instants(of: lives, using: &generator) {
            let found = try await ledger.shop.withConnection { try await LedgerReader.accessLines($0, at: instant) }
            compare(found, with: await lives.lines { $0.accessLines(at: instant, days: LedgerFixture.days) })
        }
        expectNone(try await ledger.ordersThatContradict())
        expectNone(try await ledger.differencesWhenDerivedAgain())
        try await ledger.close()
    }

    @Test func `two databases that processed everything in different orders have equal digests`() async throws {
        let lives = try await PreparedLife.make(Seed.indices(100)).map(\.withoutFoundStatuses)
        var generator = SeededGenerator(seed: Seed.current)
        var digests: [[String]] = []
        for atOnce in [1, 4] {
            let ledger = try await LedgerFixture.open()
            let steps = steps(of: lives, using: &generator)
            try await ledger.process(steps, batchesOf: atOnce == 1 ? 30 : 200, atOnce: atOnce, using: &generator)
            digests.append(try await ledger.digests())
            try await ledger.close()
        }
        #expect(LedgerDifference.between(expected: digests[0], found: digests[1]) == [], "LIVES_SEED=\(Seed.current)")
        // deploy/test compares this line of all major versions of PostgreSQL.
        let ofAll = digests[0].filter { $0.split(separator: " ").count == 2 }.sorted()
        print("state_digest of LIVES_SEED=\(Seed.current): \(ofAll.joined(separator: ", "))")
    }

    /// Everything in a random order, a quarter of it twice. Repeating create_order changes nothing; a link must run only once.
    private func steps(of lives: [PreparedLife], using generator: inout SeededGenerator) -> [LedgerFixture.Step] {
        let again = lives.steps.filter { step in
            if case .command(.linkOwner) = step { false } else { Int.random(in: 0..<4, using: &generator) == 0 }
        }
        return (lives.steps + again).shuffled(using: &generator)
    }

    /// Instants around the end of access in some histories, and a random one.
    private func instants(of lives: [PreparedLife], using generator: inout SeededGenerator) -> [Int64] {
        let ends = lives.shuffled(using: &generator).prefix(4).flatMap { $0.model.accessEndInstants() }
        return ends.prefix(4) + [Int64.random(in: 880_000_000_000...1_000_000_000_000, using: &generator)]
    }

    private func compare(_ found: [String], with expected: [String]) {
        expectNone(LedgerDifference.between(expected: expected, found: found))
    }

    private func expectNone(_ difference: [String]) {
        let command = difference.lazy.compactMap(index(ofLine:)).first.map { Seed.rerunCommand("LedgerPropertyTests", index: $0) }
        #expect(difference.isEmpty, "\(command ?? "LIVES_SEED=\(Seed.current)")\n\(difference.prefix(20).joined(separator: "\n"))")
    }
}
