extension EndpointDeliveries {
    /// The pause between two updates of a cursor that passes unwanted entries only.
    private static let cursorPause: Duration = .seconds(1)

    private var isIdle: Bool { inFlight.isEmpty && waiting.isEmpty }

    private var hasFinishedRedelivery: Bool { again?.cursor.isFinished ?? false }

    /// Why the endpoint is disabled. That ends the deliveries, so what is in flight is reported before.
    private var decision: String? { inFlight.isEmpty || phase != .serving ? disableBecause : nil }

    var hasSomethingToSettle: Bool { nextSettleAt != nil }

    /// When what there is to settle is settled; nil when there is nothing.
    var nextSettleAt: Instant? {
        if decision != nil || reports.count >= limits.settleCount { return lastSettledAt }
        let soon = lastSettledAt + limits.settlePause
        if let firstReportAt { return isIdle ? soon : max(soon, firstReportAt + limits.settlePause) }
        if hasFinishedRedelivery { return soon }
        return live.position > settledPosition ? lastSettledAt + Self.cursorPause : nil
    }

    func shouldSettle(at now: Instant) -> Bool { nextSettleAt.map { now >= $0 } ?? false }

    func settlement(at now: Instant) -> DeliverySettlement {
        DeliverySettlement(
            position: live.position,
            reports: reports,
            redeliveredThrough: hasFinishedRedelivery ? again.map { (id: $0.id, position: $0.cursor.position) } : nil,
            failures: breaker.failures,
            isFailing: breaker.failingSince != nil,
            openFor: breaker.openUntil.map { max($0 - now, .zero) },
            probes: breaker.probes,
            disableBecause: decision
        )
    }

    mutating func settled(_ settlement: DeliverySettlement, isOurs: Bool, at now: Instant) {
        isAsking = false
        databaseWorks()
        guard isOurs, settlement.disableBecause == nil else {
            phase = .over
            return
        }
        for report in settlement.reports {
            guard let subject = report.subject, let count = failing[subject], report.holdsSubject else { continue }
            failing[subject] = count > 1 ? count - 1 : nil
        }
        reports.removeFirst(settlement.reports.count)
        if settlement.redeliveredThrough != nil { again = nil }
        firstReportAt = reports.isEmpty ? nil : now
        (settledPosition, lastSettledAt) = (settlement.position, now)
    }

    mutating func report(_ report: DeliveryReport, at now: Instant) {
        firstReportAt = firstReportAt ?? now
        reports.append(report)
    }
}

extension DeliveryReport {
    /// Whether later entries of the subject must wait.
    var holdsSubject: Bool { wait != nil && result != .held && redeliveryID == nil }
}

extension FeedEntry {
    func report(
        _ result: DeliveryReport.Result,
        attempts: Int,
        wait: Duration? = nil,
        error: String? = nil
    ) -> DeliveryReport {
        DeliveryReport(
            position: position,
            subject: subject,
            redeliveryID: redeliveryID,
            result: result,
            attempts: attempts,
            wait: wait,
            error: error
        )
    }
}
