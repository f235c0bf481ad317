import Postgres
import ServiceSupport

/// The deliveries to one endpoint under one lease: what is read, in flight, and to be settled. It decides what to do next; its owner does it.
///
/// It knows neither clock nor database: the owner passes the time, and what the database says.
struct EndpointDeliveries: Sendable {
    typealias Instant = ContinuousClock.Instant

    /// What to do next.
    enum Action: Sendable {
        /// Send an entry, and call ``finished(_:_:after:at:using:)``.
        case send(FeedEntry)
        /// Call `appstore.take_deliveries`, and ``took(_:for:at:)`` or ``databaseFailed(at:using:)``.
        case take(TakeRequest)
        /// Call `appstore.settle_deliveries`, and ``settled(_:isOurs:at:)`` or ``databaseFailed(at:using:)``.
        case settle(DeliverySettlement)
        /// Ask again at this time, or when something has happened.
        case wait(until: Instant)
        /// Stop the attempts in flight; the lease is over.
        case end
    }

    enum Phase: Hashable, Sendable {
        /// Can transition to: ending, over.
        case serving
        /// Sends nothing more, and waits for what is in flight. Can transition to: over.
        case ending(by: Instant)
        case over
    }

    /// An entry in flight.
    private struct Flight: Sendable {
        let entry: FeedEntry
        let isProbe: Bool
    }

    private(set) var settings: EndpointSettings
    private(set) var phase = Phase.serving
    /// After this, another process may have the lease.
    var leaseEnd: Instant

    /// What follows the endpoint's cursor.
    private var live: ReadCursor
    /// The redelivery that was read.
    private var again: (id: Int64, cursor: ReadCursor)?
    /// Entries in memory that are not in flight, in the order of their positions, redeliveries last.
    private var waiting: [FeedEntry] = []
    /// By position.
    private var inFlight: [Int64: Flight] = [:]
    private(set) var bytes = 0

    private(set) var breaker: Breaker
    private var rate: RateLimit
    /// The endpoint, or the proxy, has asked to wait.
    private var blockedUntil: Instant?
    /// The entry that was sent as the last probe.
    private var lastProbe: Int64?
    private var proxyBackoff = Backoff(base: .seconds(1), cap: .seconds(60), jitter: 0.2)

    private var reports: [DeliveryReport] = []
    private var firstReportAt: Instant?
    private var lastSettledAt: Instant
    private var settledPosition: Int64
    private var disableBecause: String?
    /// Subjects of failed entries whose report is not settled, with the number of those. The database does not hold them yet.
    private var failing: [String: Int] = [:]

    /// Whether the database may have more.
    private var hasWork = true
    private var nextTakeAt: Instant
    /// When a read brought something.
    private var lastBroughtAt: Instant
    /// Whether a statement is in flight: there is one at a time.
    private var isAsking = false
    /// The pauses after failures of the database; nothing is sent meanwhile.
    private var outage: Backoff
    private var databaseRetryAt: Instant?

    private let limits: Limits

    /// Bounds that are the same for all endpoints.
    struct Limits: Sendable {
        /// For how long a report waits for others, so that they are settled together.
        let settlePause: Duration = .milliseconds(50)
        let settleCount = 100
        /// The pauses while the database is unavailable.
        let outage = Backoff(base: .milliseconds(200), cap: .seconds(5))
        /// How many bytes of one endpoint's bodies are in memory. A larger body comes alone.
        let bytes = 2_097_152
        /// The owner's heart beats after each wait.
        var longestWait: Duration = .seconds(1)
    }

    init(_ lease: EndpointLease, limits: Limits = Limits(), leaseEnd: Instant, at now: Instant) {
        settings = lease.settings
        self.limits = limits
        self.leaseEnd = leaseEnd
        live = ReadCursor(lease.position)
        breaker = Breaker(lease, at: now)
        rate = RateLimit(lease.settings.perSecond)
        outage = limits.outage
        (lastSettledAt, nextTakeAt, lastBroughtAt, settledPosition) = (now, now, now, lease.position)
    }

    /// How far the feed was read; nil when the endpoint is no longer served.
    var readThrough: Int64? { phase == .serving ? live.through : nil }

    // What happens meanwhile.

    /// The endpoint still is ours.
    mutating func polled(_ settings: EndpointSettings, hasWork: Bool, leaseEnd: Instant) {
        self.leaseEnd = max(self.leaseEnd, leaseEnd)
        self.settings = settings
        rate.change(to: settings.perSecond)
        if hasWork { self.hasWork = true }
    }

    /// Sends nothing more. What is in flight may end until then.
    mutating func end(by instant: Instant) {
        guard phase == .serving else { return }
        phase = .ending(by: instant)
        releaseWaiting()
    }

    /// Ends at once, with whatever is not settled.
    mutating func abandon() { phase = .over }

    mutating func databaseFailed(at now: Instant, using generator: inout some RandomNumberGenerator) {
        isAsking = false
        databaseRetryAt = now + outage.next(using: &generator)
    }

    private mutating func databaseWorks() {
        databaseRetryAt = nil
        outage.reset()
    }

    // What to do.

    mutating func next(at now: Instant) -> Action {
        guard phase != .over, now < leaseEnd else {
            phase = .over
            return .end
        }
        if let retry = databaseRetryAt, now < retry { return wait(until: retry, at: now) }
        if case .ending(let instant) = phase {
            if isAsking || !inFlight.isEmpty && now < instant { return wait(until: max(instant, now + .milliseconds(100)), at: now) }
            if hasSomethingToSettle { return settle(at: now) }
            phase = .over
            return .end
        }
        if !isAsking, shouldSettle(at: now) { return settle(at: now) }
        if databaseRetryAt == nil, let entry = nextToSend(at: now) { return .send(entry) }
        if !isAsking, let request = nextTake(at: now) {
            isAsking = true
            return .take(request)
        }
        // Without a statement to try, none can end the pause.
        if !isAsking, !hasSomethingToSettle, let entry = nextToSend(at: now) { return .send(entry) }
        return wait(until: wakeUp(after: now), at: now)
    }

    private mutating func settle(at now: Instant) -> Action {
        isAsking = true
        return .settle(settlement(at: now))
    }

    private func wait(until instant: Instant, at now: Instant) -> Action {
        .wait(until: min(instant, leaseEnd, now + limits.longestWait))
    }

    /// When something becomes due by time alone.
    private func wakeUp(after now: Instant) -> Instant {
        var instants = [nextSettleAt, rate.nextAt, blockedUntil, breaker.openUntil].compactMap(\.self)
        if hasWork { instants.append(nextTakeAt) }
        return instants.filter { $0 > now }.min() ?? leaseEnd
    }
}

extension EndpointDeliveries {
    /// How many entries a probe is chosen from.
    private static let probeChoice = 50
    /// The pause between reads while entries come, and after one that brought nothing although the database has work: what is in flight.
    private static let pauses = (flowing: Duration.milliseconds(20), idle: Duration.milliseconds(50))
    /// For how long after the last entry more are expected, without a poll that says so.
    private static let flow: Duration = .milliseconds(100)
    /// How many entries a read looks at.
    private static let scanned: Int64 = 1000

    /// How many windows are read ahead when they hold entries of few subjects.
    private static let longestAhead = 8

    /// Reads at most one window ahead of what can be sent: entries that wait for another one of their subject do not keep the others back.
    private func nextTake(at now: Instant) -> TakeRequest? {
        guard hasWork, disableBecause == nil, now >= nextTakeAt, now >= blockedUntil ?? now else { return nil }
        let known = Set(live.known + (again?.cursor.known ?? []) + waiting.map(\.position) + inFlight.keys + reports.map(\.position))
        if let openUntil = breaker.openUntil {
            guard now >= openUntil, inFlight.isEmpty else { return nil }
            return TakeRequest(
                after: live.through,
                known: known.sorted(),
                most: Self.probeChoice,
                mostRedelivered: 0,
                mostBytes: limits.bytes
            )
        }
        let unread = waiting.filter { $0.kind != .redelivery }
        let ahead = settings.keepsOrder ? unread.sendableAtOnce : unread.count
        let room = min(settings.window - ahead, Self.longestAhead * settings.window - unread.count)
        guard room >= settings.window - settings.window / 2, bytes <= limits.bytes / 2 else { return nil }
        return TakeRequest(
            after: live.through,
            known: known.sorted(),
            most: room,
            mostRedelivered: again == nil ? max(1, settings.window / 2) : 0,
            mostBytes: limits.bytes - bytes
        )
    }

    /// Returns what was given up without an attempt.
    @discardableResult
    mutating func took(_ taken: TakenEntries, for request: TakeRequest, at now: Instant) -> [Event] {
        isAsking = false
        databaseWorks()
        // What was given back meanwhile comes before what was read, and must be read again first.
        guard phase == .serving, now >= blockedUntil ?? now, live.through == request.after else { return [] }
        if let openUntil = breaker.openUntil {
            if now >= openUntil, inFlight.isEmpty { tookForProbe(taken, at: now) }
            return []
        }
        let read = taken.through.map { $0 - request.after } ?? 0
        let count = taken.entries.count { $0.kind != .redelivery }
        if !taken.entries.isEmpty || read > 0 || taken.redeliveredThrough != nil { lastBroughtAt = now }
        hasWork = now - lastBroughtAt < Self.flow
        let isFull = count >= request.most || read >= Self.scanned
        nextTakeAt = now + (isFull ? .zero : hasWork ? Self.pauses.flowing : Self.pauses.idle)
        if let (id, through) = taken.redeliveredThrough {
            var cursor = ReadCursor(taken.entries.first { $0.kind == .redelivery }.map { $0.position - 1 } ?? through)
            cursor.read(through: through)
            again = (id, cursor)
        }
        let earlier = reports.count
        for entry in taken.entries { admit(entry, at: now) }
        if let through = taken.through { live.read(through: through) }
        waiting.sort { ($0.kind == .redelivery ? 1 : 0, $0.position) < ($1.kind == .redelivery ? 1 : 0, $1.position) }
        return reports[earlier...].filter { $0.result == .givenUp }.map { .gaveUp(why: $0.reason) }
    }

    /// Queues an entry, or reports at once what becomes of it.
    private mutating func admit(_ entry: FeedEntry, at now: Instant) {
        switch entry.kind {
        case .due: guard inFlight[entry.position] == nil else { return }
        case .next: guard live.take(entry.position) else { return }
        case .redelivery:
            // What is to be sent anyway is not sent twice at once.
            guard inFlight[entry.position] == nil, !waiting.contains(where: { $0.position == entry.position }) else { return }
            guard again?.cursor.take(entry.position) == true else { return }
        }
        bytes += entry.body?.count ?? 0
        if let hold = hold(of: entry) {
            finish(entry)
            report(entry.report(.held, attempts: entry.attempts, wait: hold), at: now)
        } else if entry.body == nil {
            finish(entry)
            report(entry.report(.givenUp, attempts: entry.attempts, error: "the notification has aged or was forgotten"), at: now)
        } else {
            waiting.append(entry)
        }
    }

    /// For how long an entry must wait for an earlier one of its subject that failed.
    private func hold(of entry: FeedEntry) -> Duration? {
        guard settings.keepsOrder, entry.kind != .redelivery else { return nil }
        if let held = entry.heldFor, held > .zero { return held }
        return entry.subject.flatMap { failing[$0] } == nil ? nil : RetrySchedule.hold
    }

    /// Chooses one entry: the first of its subject, and another one than the last time, so that a single bad entry keeps no breaker open.
    private mutating func tookForProbe(_ taken: TakenEntries, at now: Instant) {
        var subjects: Set<String> = []
        let candidates = taken.entries.sorted { $0.position < $1.position }.filter { entry in
            let isFirst = entry.subject.map { subjects.insert($0).inserted } ?? true
            return entry.kind != .redelivery && entry.body != nil && (isFirst && hold(of: entry) == nil || !settings.keepsOrder)
        }
        guard let entry = candidates.first(where: { $0.position > lastProbe ?? 0 }) ?? candidates.first else {
            // What the endpoint does not want may be passed.
            if taken.entries.isEmpty, let through = taken.through { live.read(through: through) }
            breaker.postponeProbe(to: now + Breaker.firstPause)
            return
        }
        // Earlier entries are not in memory, so that this one does not move the cursor.
        guard entry.kind != .next || live.take(entry.position) else { return }
        bytes += entry.body?.count ?? 0
        waiting = [entry]
    }
}

extension [FeedEntry] {
    /// How many of them wait for no other one of their subject.
    fileprivate var sendableAtOnce: Int {
        var subjects: Set<String> = []
        return count { entry in entry.subject.map { subjects.insert($0).inserted } ?? true }
    }
}

extension EndpointDeliveries {
    /// Puts the next entry that may be sent in flight.
    private mutating func nextToSend(at now: Instant) -> FeedEntry? {
        guard disableBecause == nil, now >= blockedUntil ?? now else { return nil }
        if let nextAt = rate.nextAt, now < nextAt { return nil }
        guard inFlight.count < settings.window, let index = sendableIndex else { return nil }
        let entry = waiting.remove(at: index)
        inFlight[entry.position] = Flight(entry: entry, isProbe: breaker.isOpen)
        rate.count(at: now)
        if breaker.isOpen { lastProbe = entry.position }
        return entry
    }

    /// Retries have half of the window while other entries wait, and redeliveries have half of it while none does. A subject has one entry in
    /// flight, the first one.
    private var sendableIndex: Int? {
        let half = max(1, settings.window / 2)
        let hasNext = waiting.contains { $0.kind == .next }
        let flights = Dictionary(grouping: inFlight.values, by: \.entry.kind).mapValues(\.count)
        var busy = settings.keepsOrder ? Set(inFlight.values.compactMap(\.entry.subject)) : []
        for (index, entry) in waiting.enumerated() {
            if let subject = entry.subject, settings.keepsOrder, !busy.insert(subject).inserted { continue }
            switch entry.kind {
            case .next: return index
            case .due: if !hasNext || flights[.due, default: 0] < half { return index }
            case .redelivery: if flights[.redelivery, default: 0] < half { return index }
            }
        }
        return nil
    }

    /// Gives back what is in memory and not in flight: it is read again when it can be sent.
    private mutating func releaseWaiting() {
        for entry in waiting { release(entry) }
        waiting = []
    }

    private mutating func release(_ entry: FeedEntry) {
        bytes -= entry.body?.count ?? 0
        switch entry.kind {
        case .due: break
        case .next: live.release(entry.position)
        case .redelivery: again?.cursor.release(entry.position)
        }
        hasWork = true
    }

    /// Forgets an entry whose report says what becomes of it.
    private mutating func finish(_ entry: FeedEntry) {
        bytes -= entry.body?.count ?? 0
        switch entry.kind {
        case .due: break
        case .next: live.finish(entry.position)
        case .redelivery: again?.cursor.finish(entry.position)
        }
    }
}

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
    fileprivate var reason: String { error ?? status.map { "HTTP status \($0)" } ?? result.rawValue }

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

extension EndpointDeliveries {
    /// The pause between two updates of a cursor that passes unwanted entries only.
    private static let cursorPause: Duration = .seconds(1)

    private var isIdle: Bool { inFlight.isEmpty && waiting.isEmpty }

    private var hasFinishedRedelivery: Bool { again?.cursor.isFinished ?? false }

    /// Why the endpoint is disabled. That ends the deliveries, so what is in flight is reported before.
    private var decision: String? { inFlight.isEmpty || phase != .serving ? disableBecause : nil }

    private var hasSomethingToSettle: Bool { nextSettleAt != nil }

    /// When what there is to settle is settled; nil when there is nothing.
    private var nextSettleAt: Instant? {
        if decision != nil || reports.count >= limits.settleCount { return lastSettledAt }
        let soon = lastSettledAt + limits.settlePause
        if let firstReportAt { return isIdle ? soon : max(soon, firstReportAt + limits.settlePause) }
        if hasFinishedRedelivery { return soon }
        return live.position > settledPosition ? lastSettledAt + Self.cursorPause : nil
    }

    private func shouldSettle(at now: Instant) -> Bool { nextSettleAt.map { now >= $0 } ?? false }

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

    private mutating func report(_ report: DeliveryReport, at now: Instant) {
        firstReportAt = firstReportAt ?? now
        reports.append(report)
    }
}

extension DeliveryReport {
    /// Whether later entries of the subject must wait.
    fileprivate var holdsSubject: Bool { wait != nil && result != .held && redeliveryID == nil }
}

extension FeedEntry {
    fileprivate func report(
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
