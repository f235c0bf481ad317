import Logging
package import Metrics
import Postgres
import ServiceSupport

/// What the queue counts: its batches, and what became of their events.
package struct QueueMetrics: Sendable {
    private let outcomes: OutcomeCounters
    private let oddMembers: Counter
    private let retries: Counter
    private let contested: Counter
    private let splits: Counter
    private let lost: Counter
    private let isolated: Counter
    private let deaths: Counter
    private let batchEvents: Recorder
    private let batchDuration: Timer
    private let delay: Timer

    /// - Parameter types: the notification types that are told apart; every other one is `other`, since anyone at Apple may invent more.
    package init(types: Set<String> = [], factory: any MetricsFactory = MetricsSystem.factory) {
        outcomes = OutcomeCounters(types: types, factory: factory)
        oddMembers = Counter(label: "appstore_inbox_worker_odd_member_events_total", factory: factory)
        retries = Counter(label: "appstore_inbox_worker_retries_total", factory: factory)
        contested = Counter(label: "appstore_inbox_worker_contested_total", factory: factory)
        splits = Counter(label: "appstore_inbox_worker_batch_splits_total", factory: factory)
        lost = Counter(label: "appstore_inbox_worker_batches_lost_total", factory: factory)
        isolated = Counter(label: "appstore_inbox_worker_isolated_total", factory: factory)
        deaths = Counter(label: "appstore_inbox_worker_deaths_total", factory: factory)
        batchEvents = Recorder(label: "appstore_inbox_worker_batch_events", factory: factory)
        batchDuration = Timer(label: "appstore_inbox_worker_batch_seconds", factory: factory)
        delay = Timer(label: "appstore_inbox_worker_delay_seconds", factory: factory)
    }

    /// A batch was committed, so long after its claim began, and after its events were claimed, to which their age goes.
    func committed(_ plan: SettlementPlan, after duration: Duration, sinceClaim: Duration) {
        let events = plan.outcomes.count + plan.retries.count
        guard events > 0 else { return }
        outcomes.count(plan.outcomes.map(\.outcome))
        oddMembers.increment(by: plan.outcomes.count { !$0.outcome.labels.oddMembers.isEmpty })
        retries.increment(by: plan.retries.count(where: \.isAttempt))
        batchEvents.record(events)
        batchDuration.record(duration: duration)
        for settled in plan.outcomes { delay.record(duration: settled.event.age + sinceClaim) }
    }

    /// Events were released, since another batch was merging what they are about.
    func released(_ events: Int) {
        contested.increment(by: events)
    }

    /// A batch failed, and its events ran one by one.
    func split() {
        splits.increment()
    }

    /// Batches of processes that died were found.
    func recovered(_ report: RecoveryReport) {
        isolated.increment(by: report.isolated)
        deaths.increment(by: report.deaths)
    }

    /// A batch was not committed; its events stay in the queue.
    func batchLost() {
        lost.increment()
    }
}

/// A counter for each notification type and result.
private struct OutcomeCounters: Sendable {
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

/// What the log says of events. It never holds a body.
extension EventQueue {
    /// Logs what a commit made of its events: failures as errors, rejections in a summary, and each event at the level debug.
    func log(_ plan: SettlementPlan, sinceClaim: Duration) {
        for settled in plan.outcomes {
            let outcome = settled.outcome
            if outcome.result == .rejected { count(outcome) }
            if outcome.result == .failed {
                var metadata = metadata(settled.event, outcome.labels, outcome.reason, attempt: settled.attempts)
                metadata["error"] = settled.error.map { "\($0)" }
                logger.error("event failed for the last time and is given up", metadata: metadata)
            }
            guard logger.logLevel <= .debug else { continue }
            var metadata = metadata(settled.event, outcome.labels, outcome.reason, attempt: settled.attempts)
            metadata["event.result"] = "\(outcome.result.rawValue)"
            metadata["event.ms"] = "\((settled.event.age + sinceClaim).milliseconds)"
            logger.debug("event settled", metadata: metadata)
        }
        for retry in plan.retries {
            var metadata = metadata(retry.event, retry.labels, retry.reason, attempt: retry.event.attempts + (retry.isAttempt ? 1 : 0))
            metadata["event.retry-ms"] = "\(retry.delay.milliseconds)"
            metadata["error"] = "\(retry.error)"
            // Where no attempt is counted, the event is not the cause.
            logger.log(
                level: retry.isIsolated ? retry.isAttempt ? .error : .warning : .info,
                retry.isAttempt ? "event failed and is tried again" : "event waits for its next run",
                metadata: metadata
            )
        }
    }

    /// Logs what is due of the rejections since the last call, or all of it; to be called about once a second, and at the end.
    package func flushSummaries(all: Bool = false) {
        rejections.flush(all: all)
    }

    /// A bundle is known only where a signature was valid: then an app or an environment is probably not configured.
    private func count(_ rejected: Outcome) {
        let bundle = rejected.labels.bundleID
        rejections.count(
            ["event.reason": rejected.reason ?? "unknown"],
            details: bundle.map { ["event.bundle": $0] } ?? [:],
            level: bundle == nil ? .notice : .warning
        )
    }

    private func metadata(_ event: ClaimedEvent, _ labels: OutcomeLabels, _ reason: String?, attempt: Int) -> Logger.Metadata {
        let type = [labels.notificationType, labels.subtype].compactMap(\.self).joined(separator: "/")
        var metadata: Logger.Metadata = [
            "event.id": "\(event.eventID)", "event.type": "\(!type.isEmpty ? type : event.source.isEmpty ? "unknown" : event.source)",
            "event.attempt": "\(attempt)",
        ]
        metadata["event.reason"] = reason.map { "\($0)" }
        return metadata
    }
}
