import Metrics

/// Counts what a server refuses.
package struct RefusalMetrics: Sendable {
    private let label: String

    /// - Parameter label: of the counter; its dimension is the problem's reason.
    package init(label: String) {
        self.label = label
    }

    /// Counts a refusal by its reason.
    package func count(_ problem: Problem) {
        Counter(label: label, dimensions: [("reason", problem.reason)]).increment()
    }
}
