import Randomness

/// Which faults come in which order: all of a list in a random order, then again in another, for ever.
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

    /// About that much time, half as long up to half as long again.
    mutating func about(_ duration: Duration) -> Duration {
        duration * Double.random(in: 0.5...1.5, using: &generator)
    }

    mutating func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &generator) }
}
