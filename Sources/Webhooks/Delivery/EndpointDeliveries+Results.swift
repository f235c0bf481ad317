import Postgres

extension EndpointDeliveries {
    /// What its owner counts and logs.
    enum Event: Hashable, Sendable {
        case attempted(DeliveryReport.Result)
        case breakerOpened(why: String)
        case breakerClosed
        case gaveUp(why: String)
        case disabled(why: String)
        case proxyFailed(why: String)
    }

    /// Records what became of an entry in flight.
    mutating func finished(
        _ position: Int64,
        _ outcome: DeliveryOutcome,
        after duration: Duration,
        at now: Instant,
        using generator: inout some RandomNumberGenerator
    ) -> [Event] {
        guard let flight = inFlight.removeValue(forKey: position), phase != .over else { return [] }
        let entry = flight.entry
        let verdict = DeliveryVerdict(outcome)
        switch verdict {
        case .cancelled:
            release(entry)
            return []
        case .proxyFailed(let why):
            release(entry)
            block(until: now + proxyBackoff.next(using: &generator))
            return [.proxyFailed(why: why)]
        case .delivered, .failed, .later, .gone: proxyBackoff.reset()
        }
        var report = self.report(on: flight, verdict, using: &generator)
        report.describe(outcome, after: duration, keepsAnswer: report.result != .delivered || entry.type == "test")
        if report.result == .delivered || report.result == .givenUp || report.wait != nil { finish(entry) } else { release(entry) }
        hold(behind: report)
        self.report(report, at: now)
        let consequences = judgeEndpoint(by: verdict, of: flight, report, at: now, using: &generator)
        return [.attempted(report.result)] + (report.result == .givenUp ? [.gaveUp(why: report.reason)] : []) + consequences
    }

    private func report(
        on flight: Flight,
        _ verdict: DeliveryVerdict,
        using generator: inout some RandomNumberGenerator
    ) -> DeliveryReport {
        let entry = flight.entry
        let attempts = entry.attempts + 1
        // While the breaker is open an attempt says nothing about the entry, which stays where it is.
        let isCounted = !verdict.isOfEndpoint || !flight.isProbe && !breaker.isOpen
        switch verdict {
        case .delivered: return entry.report(.delivered, attempts: entry.attempts)
        case .later(let wait): return entry.report(.later, attempts: entry.attempts, wait: isCounted ? wait : nil)
        case .failed where flight.isProbe && verdict.isOfEndpoint: return entry.report(.probeFailed, attempts: entry.attempts)
        case .failed(let result, _) where !isCounted: return entry.report(result, attempts: entry.attempts)
        case .failed where attempts >= RetrySchedule.attempts: return entry.report(.givenUp, attempts: attempts)
        case .failed(let result, _):
            return entry.report(result, attempts: attempts, wait: RetrySchedule.pause(afterFailures: attempts, using: &generator))
        case .gone, .proxyFailed, .cancelled: return entry.report(.failed, attempts: entry.attempts)
        }
    }

    /// Makes later entries of a failed one's subject wait, until the database does.
    private mutating func hold(behind report: DeliveryReport) {
        guard settings.keepsOrder, report.holdsSubject, let subject = report.subject else { return }
        failing[subject, default: 0] += 1
        let held = waiting.filter { $0.subject == subject && $0.kind != .redelivery && $0.position > report.position }
        for entry in held {
            finish(entry)
            self.report(entry.report(.held, attempts: entry.attempts, wait: RetrySchedule.hold), at: firstReportAt ?? lastSettledAt)
        }
        waiting.removeAll { entry in held.contains { $0.position == entry.position } }
    }

    /// Moves the breaker, and disables an endpoint that is gone or has failed for days.
    private mutating func judgeEndpoint(
        by verdict: DeliveryVerdict,
        of flight: Flight,
        _ report: DeliveryReport,
        at now: Instant,
        using generator: inout some RandomNumberGenerator
    ) -> [Event] {
        var events: [Event] = []
        let isDecided = disableBecause != nil
        switch verdict {
        case .delivered: if breaker.succeeded(at: now) { events.append(.breakerClosed) }
        case .failed, .later, .gone:
            if flight.isProbe, case .failed(_, isOfEndpoint: false) = verdict {
                if breaker.probeAnswered(at: now) { events.append(.breakerClosed) }
            } else if flight.isProbe {
                breaker.probeFailed(at: now, using: &generator)
            } else if !verdict.isOfEndpoint {
                breaker.entryFailed(at: now)
            } else if breaker.endpointFailed(flight.entry.position, at: now) {
                events.append(.breakerOpened(why: report.reason))
                releaseWaiting()
            }
        case .proxyFailed, .cancelled: break
        }
        if case .later(let wait) = verdict { block(until: now + wait) }
        if case .gone = verdict { disableBecause = "the endpoint answered 410 Gone" }
        if breaker.isHopeless(at: now) { disableBecause = disableBecause ?? "no delivery has succeeded for five days" }
        if !isDecided, let disableBecause { events.append(.disabled(why: disableBecause)) }
        return events
    }

    private mutating func block(until instant: Instant) {
        blockedUntil = max(blockedUntil ?? instant, instant)
        releaseWaiting()
    }
}

extension DeliveryReport {
    /// What was wrong, in words.
    var reason: String { error ?? status.map { "HTTP status \($0)" } ?? result.rawValue }

    fileprivate mutating func describe(_ outcome: DeliveryOutcome, after duration: Duration, keepsAnswer: Bool) {
        self.duration = duration
        switch outcome {
        case .answered(let answer):
            (status, answerBytes) = (answer.status, answer.byteCount)
            // PostgreSQL's texts hold no NUL.
            if keepsAnswer { self.answer = String(decoding: answer.body.map { $0 == 0 ? UInt8(ascii: "?") : $0 }, as: UTF8.self) }
            if (300...399).contains(answer.status) { error = "HTTP status \(answer.status): redirects are not followed" }
        case .failed(let text), .refused(let text): error = text
        case .proxyFailed, .cancelled: break
        }
    }
}
