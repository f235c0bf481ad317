import Ledger
import LivesTesting
import Randomness
import Testing

/// The joins of the registers, without a database.
struct PureCoreTests {
    static let lives = Seed.lives("LIVES_PURE", usually: 10_000)

    @Test func `registers and effects are functions of the set of events`() async throws {
        for index in Seed.indices(Self.lives) {
            try check(try PreparedLife(seed: Seed.current, index: index))
            await Task.yield()
        }
    }

    private func check(_ life: PreparedLife) throws {
        let expected = life.model.coreLines()
        var generator = SeededGenerator(seed: Seed.current ^ UInt64(life.history.index))
        for _ in 0..<(Seed.value("LIVES_ONLY") == nil ? 2 : 100) {
            var ledger = CoreLedger()
            let order = Shuffling.order(of: life.facts, using: &generator)
            for batch in Shuffling.batches(of: order, upTo: 8, using: &generator) { ledger.merge(BatchFold(batch)) }
            let difference = LedgerDifference.between(expected: expected, found: ledger.lines())
            let command = Seed.rerunCommand("PureCoreTests", index: life.history.index)
            try #require(difference.isEmpty, "\(command)\n\(difference.joined(separator: "\n"))")
        }
    }
}
