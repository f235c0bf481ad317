import Postgres

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
    struct Flight: Sendable {
        let entry: FeedEntry
        let isProbe: Bool
    }

    var settings: EndpointSettings
    var phase = Phase.serving
    /// After this, another process may have the lease.
    var leaseEnd: Instant

    /// What follows the endpoint's cursor.
    var live: ReadCursor
    /// The redelivery that was read.
    var again: (id: Int64, cursor: ReadCursor)?
    /// Entries in memory that are not in flight, in the order of their positions, redeliveries last.
    var waiting: [FeedEntry] = []
    /// By position.
    var inFlight: [Int64: Flight] = [:]
    var bytes = 0

    var breaker: Breaker
    var rate: RateLimit
    /// The endpoint, or the proxy, has asked to wait.
    var blockedUntil: Instant?
    /// The entry that was sent as the last probe.
    var lastProbe: Int64?
    var proxyBackoff = Backoff(base: .seconds(1), cap: .seconds(60), jitter: 0.2)

    var reports: [DeliveryReport] = []
    var firstReportAt: Instant?
    var lastSettledAt: Instant
    var settledPosition: Int64
    var disableBecause: String?
    /// Subjects of failed entries whose report is not settled, with the number of those. The database does not hold them yet.
    var failing: [String: Int] = [:]

    /// Whether the database may have more.
    var hasWork = true
    var nextTakeAt: Instant
    /// When a read brought something.
    var lastBroughtAt: Instant
    /// Whether a statement is in flight: there is one at a time.
    var isAsking = false
    /// The pauses after failures of the database; nothing is sent meanwhile.
    var outage: Backoff
    var databaseRetryAt: Instant?

    let limits: Limits

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

    mutating func databaseWorks() {
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
