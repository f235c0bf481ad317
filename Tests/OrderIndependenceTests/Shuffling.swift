import LivesTesting
import Randomness

/// One way of processing what happened: a random order, some of it twice, cut into batches.
enum Shuffling {
    /// All of `steps` in a random order, each at least once.
    static func order<Step>(of steps: [Step], using generator: inout SeededGenerator) -> [Step] {
        let again = steps.filter { _ in Int.random(in: 0..<4, using: &generator) == 0 }
        return (steps + again).shuffled(using: &generator)
    }

    /// `steps` in pieces of 1 to `most`.
    static func batches<Step>(of steps: [Step], upTo most: Int, using generator: inout SeededGenerator) -> [[Step]] {
        var batches: [[Step]] = []
        var rest = steps[...]
        while !rest.isEmpty {
            let batch = rest.prefix(Int.random(in: 1...most, using: &generator))
            batches.append(Array(batch))
            rest = rest.dropFirst(batch.count)
        }
        return batches
    }
}
