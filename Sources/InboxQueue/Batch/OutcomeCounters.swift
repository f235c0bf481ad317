import Metrics

/// A counter for each notification type and result.
struct OutcomeCounters: Sendable {
    private struct Kind: Hashable {
        let type: String
        let result: Outcome.Result
    }

    private let counters: [Kind: Counter]
    private let types: Set<String>

    /// - Parameter types: those that are told apart.
    init(types: Set<String>, factory: any MetricsFactory) {
        self.types = types
        let kinds = types.union([Self.other, Self.none]).flatMap { type in
            Outcome.Result.allCases.map { Kind(type: type, result: $0) }
        }
        counters = Dictionary(uniqueKeysWithValues: kinds.map { ($0, Self.counter(of: $0, factory)) })
    }

    /// Counts the outcomes of a batch.
    func count(_ outcomes: some Sequence<Outcome>) {
        for outcome in outcomes {
            counters[Kind(type: label(of: outcome.labels.notificationType), result: outcome.result)]?.increment()
        }
    }

    /// Stands for all types that Apple adds later; there may be any number of them.
    private static let other = "other"
    /// Stands for an event without a verified notification.
    private static let none = "none"

    private func label(of type: String?) -> String {
        guard let type else { return Self.none }
        return types.contains(type) ? type : Self.other
    }

    private static func counter(of kind: Kind, _ factory: any MetricsFactory) -> Counter {
        let dimensions = [("type", kind.type), ("result", kind.result.rawValue)]
        return Counter(label: "appstore_inbox_worker_outcomes_total", dimensions: dimensions, factory: factory)
    }
}
