import Metrics

/// The metrics of the outbox.
struct OutboxMetrics: Sendable {
    /// The result of an attempt, as a label.
    enum Result: String, CaseIterable, Sendable {
        case answered, refused, postponed
        case givenUp = "given_up"
        /// There was a later lease.
        case late
    }

    private let attempts: [String: [Result: Counter]]
    private let exchange: Timer

    init(kinds: Set<String>, factory: any MetricsFactory) {
        attempts = Dictionary(
            uniqueKeysWithValues: kinds.map { kind in
                let counters = Result.allCases.map { result in
                    let dimensions = [("kind", kind), ("result", result.rawValue)]
                    return (result, Counter(label: "appstore_inbox_outbox_attempts_total", dimensions: dimensions, factory: factory))
                }
                return (kind, Dictionary(uniqueKeysWithValues: counters))
            }
        )
        exchange = Timer(label: "appstore_inbox_outbox_exchange_seconds", factory: factory)
    }

    func count(_ result: Result, kind: String) { attempts[kind]?[result]?.increment() }

    func exchanged(after duration: Duration) { exchange.record(duration: duration) }
}

extension OutboxMetrics.Result {
    init(_ verdict: CallRules.Verdict) {
        self =
            switch verdict {
            case .answer, .page: .answered
            case .refuse, .deny: .refused
            case .giveUp: .givenUp
            case .postpone: .postponed
            }
    }
}
