import Postgres
import PrometheusTesting
import ServiceSupport
import Testing

@testable import InboxQueue

@Suite struct QueueMetricsTests {
    private let registry = MetricRegistry(
        ["outcomes", "odd_member_events", "retries", "contested", "batch_splits", "batches_lost", "isolated", "deaths"].map {
            MetricDescription("appstore_inbox_worker_\($0)_total", .counter, "x")
        }
            + ["batch_events", "batch_seconds", "delay_seconds"].map {
                MetricDescription("appstore_inbox_worker_\($0)", .histogram(bounds: [1, 2, 5]), "x")
            }
    )

    private func event(_ id: Int64, waited: Int64) -> ClaimedEvent {
        let claimed = PostgresTimestamp(millisecondsSince1970: 1_700_000_000_000)
        var event = ClaimedEvent(eventID: id, claimedAt: claimed, attempts: 0, run: 1)
        event.source = "notification_v2"
        event.receivedAt = PostgresTimestamp(millisecondsSince1970: claimed.millisecondsSince1970 - waited)
        return event
    }

    private func outcome(_ result: Outcome.Result, type: String?, odd: [String] = []) -> Settlement {
        var labels = OutcomeLabels()
        labels.notificationType = type
        labels.oddMembers = odd
        return .outcome(Outcome(result, labels: labels))
    }

    @Test func `a committed batch counts outcomes, retries, sizes and how long its events took in all`() throws {
        let settlements = [
            outcome(.applied, type: "DID_RENEW"), outcome(.applied, type: "DID_RENEW", odd: ["data.status", "version"]),
            outcome(.rejected, type: nil),
            .retry(reason: "x", error: "x", labels: OutcomeLabels()),
        ]
        var plan = SettlementPlan(
            [event(1, waited: 500), event(2, waited: 3000), event(3, waited: -10), event(4, waited: 0), event(5, waited: 0)],
            settlements,
            QueueConfiguration()
        )
        plan.postpone(event(5, waited: 0), for: .seconds(1), error: "x")
        let queue = QueueMetrics(types: ["DID_RENEW"], factory: registry)
        queue.committed(plan, after: .seconds(2), sinceClaim: .seconds(1))
        queue.split()
        queue.released(3)
        queue.batchLost()
        let metrics = try ExposedMetrics(registry.render())
        let outcomes = "appstore_inbox_worker_outcomes_total"
        #expect(metrics.value(outcomes, ["type": "DID_RENEW", "result": "applied"]) == 2)
        #expect(metrics.value(outcomes, ["type": "none", "result": "rejected"]) == 1)
        #expect(metrics.value(outcomes, ["type": "DID_RENEW", "result": "failed"]) == 0)
        #expect(metrics.value("appstore_inbox_worker_odd_member_events_total") == 1)
        #expect(metrics.value("appstore_inbox_worker_retries_total") == 1)
        #expect(metrics.value("appstore_inbox_worker_batch_splits_total") == 1)
        #expect(metrics.value("appstore_inbox_worker_contested_total") == 3)
        #expect(metrics.value("appstore_inbox_worker_batches_lost_total") == 1)
        #expect(metrics.sum("appstore_inbox_worker_batch_events") == 5)
        // Received 0.5, 3 and, by clocks that disagree, -0.01 s before the claim; committed a second after it.
        #expect(metrics.count("appstore_inbox_worker_delay_seconds") == 3)
        #expect(metrics.sum("appstore_inbox_worker_delay_seconds") == 6.5)
        #expect(registry.undescribed.isEmpty)
    }

    @Test func `undocumented types are one series, however many there are`() throws {
        let queue = QueueMetrics(types: ["DID_RENEW"], factory: registry)
        let before = try ExposedMetrics(registry.render()).families["appstore_inbox_worker_outcomes_total"]?.samples.count
        let events = (0..<500).map { event(Int64($0), waited: 0) }
        let settlements = (0..<500).map { outcome(.unhandled, type: "TYPE_\($0)\"\n") }
        queue.committed(
            SettlementPlan(events, settlements, QueueConfiguration()),
            after: .seconds(1),
            sinceClaim: .seconds(1)
        )
        let metrics = try ExposedMetrics(registry.render())
        #expect(metrics.families["appstore_inbox_worker_outcomes_total"]?.samples.count == before)
        #expect(metrics.value("appstore_inbox_worker_outcomes_total", ["type": "other", "result": "unhandled"]) == 500)
    }
}
