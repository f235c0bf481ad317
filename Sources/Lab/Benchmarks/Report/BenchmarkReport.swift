/// The result of a benchmark.
package struct BenchmarkReport: Sendable {
    /// A further figure.
    package struct Detail: Hashable, Sendable {
        package let name: String
        package let value: Double
        package let unit: String

        package init(_ name: String, _ value: Double, unit: String) {
            self.name = name
            self.value = value
            self.unit = unit
        }
    }

    /// The command, such as `drain --queue-only`.
    package let name: String
    /// What was measured, in a sentence or two.
    package let summary: String
    package var comparisons: [Comparison]
    package var costs: [ProcessorCost] = []
    package var details: [Detail] = []
    /// The number of processed notifications of each kind.
    package var mix: [String: Int] = [:]
    package var machine: Machine
    /// Reasons to distrust the figures.
    package var warnings: [String] = []

    package init(name: String, summary: String, comparisons: [Comparison], machine: Machine) {
        self.name = name
        self.summary = summary
        self.comparisons = comparisons
        self.machine = machine
        warnings = machine.warnings
    }

    /// Whether every aim is met.
    package var meetsItsAims: Bool { comparisons.allSatisfy { $0.isMet ?? true } }
}
