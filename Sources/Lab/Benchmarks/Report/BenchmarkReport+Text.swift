extension BenchmarkReport {
    /// The report as text.
    package var text: String {
        var lines = ["bench \(name)", summary, "", machine.description, ""]
        for comparison in comparisons { lines += Self.lines(comparison) }
        if !costs.isEmpty {
            lines += ["", "processor time per event:"]
            let width = costs.map(\.part.count).max() ?? 0
            lines += costs.map { "  \($0.part.padded(to: width))  \($0.microseconds.figureText) us  (\($0.source))" }
            lines.append("  \("sum".padded(to: width))  \(costs.reduce(0) { $0 + $1.microseconds }.figureText) us")
        }
        if !details.isEmpty { lines += [""] + details.map { "\($0.name): \($0.value.figureText) \($0.unit)" } }
        if !mix.isEmpty {
            let kinds = mix.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.map { "\($0.key) \($0.value)" }
            lines += ["", "mix: \(kinds.joined(separator: ", "))"]
        }
        if !warnings.isEmpty { lines += [""] + warnings.map { "WARNING: \($0)" } }
        return lines.joined(separator: "\n")
    }

    private static func lines(_ comparison: Comparison) -> [String] {
        var lines = ["\(comparison.label): \(comparison.figure.figureText) \(comparison.unit)\(spread(comparison.rounds))"]
        if let yardstick = comparison.yardstick {
            let figure = Samples(yardstick.rounds).median.figureText
            lines.append("  yardstick: \(figure) \(comparison.unit)\(spread(yardstick.rounds)): \(yardstick.name)")
        }
        if let ratio = comparison.ratio { lines.append("  ratio: \(ratio.figureText)") }
        if let aim = comparison.aim, let isMet = comparison.isMet {
            lines.append("  aim: \(aim.text)\(comparison.yardstick == nil ? " \(comparison.unit)" : ""): \(isMet ? "met" : "missed")")
        }
        return lines
    }

    /// The figures of the rounds.
    private static func spread(_ rounds: [Double]) -> String {
        rounds.count > 1 ? " (rounds: \(rounds.map(\.figureText).joined(separator: ", ")))" : ""
    }
}

extension String {
    fileprivate func padded(to width: Int) -> String { self + String(repeating: " ", count: max(0, width - count)) }
}
