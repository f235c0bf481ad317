import Ledger
import LivesTesting
import Randomness
import Testing

/// The registers' joins alone, without a database.
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
            var books = CoreBooks()
            let order = Shuffling.order(of: life.facts, using: &generator)
            for batch in Shuffling.batches(of: order, upTo: 8, using: &generator) { books.merge(BatchFold(batch)) }
            let difference = BookDifference.between(expected: expected, found: books.lines())
            let again = Seed.again("PureCoreTests", index: life.history.index)
            try #require(difference.isEmpty, "\(again)\n\(difference.joined(separator: "\n"))")
        }
    }
}
