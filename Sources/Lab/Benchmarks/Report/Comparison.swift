/// One figure of a benchmark in all rounds, with the yardstick's figures of the same rounds.
package struct Comparison: Hashable, Sendable {
    /// The figure to compare with.
    package struct Yardstick: Hashable, Sendable {
        package let name: String
        /// One for each round, in the unit of the comparison.
        package let rounds: [Double]

        package init(_ name: String, rounds: [Double]) {
            self.name = name
            self.rounds = rounds
        }
    }

    /// The target.
    package enum Aim: Hashable, Sendable {
        /// The ratio to the yardstick is at least this.
        case ratio(Double)
        /// The figure itself is less than this.
        case below(Double)
    }

    package let label: String
    package let unit: String
    /// One figure for each round.
    package let rounds: [Double]
    package let yardstick: Yardstick?
    package let aim: Aim?

    package init(_ label: String, unit: String, rounds: [Double], yardstick: Yardstick? = nil, aim: Aim? = nil) {
        self.label = label
        self.unit = unit
        self.rounds = rounds
        self.yardstick = yardstick
        self.aim = aim
    }

    /// The median of the rounds.
    package var figure: Double { Samples(rounds).median }

    /// The median of the rounds' ratios: in each ratio, the machine's state in that round cancels out.
    package var ratio: Double? {
        guard let yardstick else { return nil }
        let ratios = zip(rounds, yardstick.rounds).filter { $1 > 0 }.map { $0 / $1 }
        return ratios.isEmpty ? nil : Samples(ratios).median
    }

    /// Whether the aim is met; nil without one.
    package var isMet: Bool? {
        switch aim {
        case .ratio(let least): ratio.map { $0 >= least } ?? false
        case .below(let limit): figure < limit
        case nil: nil
        }
    }
}
