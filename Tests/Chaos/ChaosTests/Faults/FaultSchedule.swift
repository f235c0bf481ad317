import Randomness

/// An endless sequence of faults: all of a list in a random order, then all of them in another order, and so on.
struct FaultSchedule: Sequence, IteratorProtocol {
    private let faults: [Fault]
    private var generator: SeededGenerator
    private var rest: [Fault] = []

    init(_ faults: [Fault], seed: UInt64) {
        self.faults = faults
        generator = SeededGenerator(seed: seed)
    }

    mutating func next() -> Fault? {
        if rest.isEmpty { rest = faults.shuffled(using: &generator) }
        return rest.popLast()
    }

    /// A random duration between 50% and 150% of the given one.
    mutating func about(_ duration: Duration) -> Duration {
        duration * Double.random(in: 0.5...1.5, using: &generator)
    }

    mutating func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &generator) }
}
