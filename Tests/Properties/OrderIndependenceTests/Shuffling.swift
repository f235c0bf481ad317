import Randomness

/// Random orders of processing, with repetitions, in batches.
enum Shuffling {
    /// All of `steps` in a random order, each at least once.
    static func order<Step>(of steps: [Step], using generator: inout SeededGenerator) -> [Step] {
        let repeated = steps.filter { _ in Int.random(in: 0..<4, using: &generator) == 0 }
        return (steps + repeated).shuffled(using: &generator)
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
