package import Metrics

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
