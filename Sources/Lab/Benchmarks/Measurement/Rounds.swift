/// Measures several things in turn, so that a machine that becomes slower affects all of them alike.
package enum Rounds {
    /// The order in which `count` things are measured in a round: each round begins with another one.
    package static func order(of count: Int, in round: Int) -> [Int] {
        (0..<count).map { ($0 + round) % max(count, 1) }
    }

    /// Measures each thing once a round. Returns the figures of each thing, in the order of the rounds.
    static func run<Figure: Sendable>(
        _ rounds: Int,
        of count: Int,
        measure: (_ index: Int, _ round: Int) async throws -> Figure
    ) async throws -> [[Figure]] {
        try await run(atLeast: rounds, until: { true }, of: count, measure: measure)
    }

    /// Like ``run(_:of:measure:)``, with further rounds until `isOver` returns true.
    static func run<Figure: Sendable>(
        atLeast rounds: Int,
        until isOver: () -> Bool,
        of count: Int,
        measure: (_ index: Int, _ round: Int) async throws -> Figure
    ) async throws -> [[Figure]] {
        var figures = [[Figure]](repeating: [], count: count)
        var round = 0
        while round < rounds || !isOver() {
            for index in order(of: count, in: round) {
                try Task.checkCancellation()
                figures[index].append(try await measure(index, round))
            }
            round += 1
        }
        return figures
    }
}
