import Logging
import Postgres
import Reporting

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
