import Foundation
import Randomness

@testable import Feed

/// What the database does for one endpoint, in memory and with a clock of the test's: see `appstore.take_deliveries` and
/// `appstore.settle_deliveries`.
struct FakeFeed {
    typealias Instant = ContinuousClock.Instant

    struct Open {
        let subject: String?
        /// Nil while it is held.
        var runAt: Instant?
        var attempts: Int
        var firstFailedAt: Instant?
        var isGivenUp = false
    }

    /// The subject of each entry; the first is at position 1.
    var subjects: [String?]
    var unwanted: Set<Int64> = []
    var missingBodies: Set<Int64> = []
    var bodySize = 2
    var position: Int64 = 0
    var open: [Int64: Open] = [:]
    var redelivery: (id: Int64, after: Int64, upto: Int64)?
    var settlements: [DeliverySettlement] = []

    init(_ subjects: [String?]) {
        self.subjects = subjects
    }

    var reports: [DeliveryReport] { settlements.flatMap(\.reports) }
    var head: Int64 { Int64(subjects.count) }

    func hasWork(after: Int64, at now: Instant) -> Bool {
        head > after || open.values.contains { !$0.isGivenUp && $0.runAt.map { $0 <= now } ?? false } || redelivery != nil
    }

    func take(_ request: TakeRequest, keepsOrder: Bool = true, at now: Instant) -> TakenEntries {
        var taken = TakenEntries()
        let known = Set(request.known)
        let due = open.filter { !$0.value.isGivenUp && ($0.value.runAt.map { $0 <= now } ?? false) && !known.contains($0.key) }
            .sorted { $0.key < $1.key }.prefix(head > request.after ? (request.most + 1) / 2 : request.most)
        for (position, _) in due { taken.entries.append(entry(.due, position, keepsOrder, at: now)) }
        var through = request.after
        while through < head, taken.entries.count < request.most {
            let position = through + 1
            let isNew = !unwanted.contains(position) && !known.contains(position) && open[position] == nil
            if isNew, !taken.entries.isEmpty, (taken.entries.count + 1) * bodySize > request.mostBytes { break }
            if isNew { taken.entries.append(entry(.next, position, keepsOrder, at: now)) }
            through = position
        }
        if through > request.after { taken.through = through }
        if let redelivery, request.mostRedelivered > 0 {
            let again = ((redelivery.after + 1)...max(redelivery.upto, redelivery.after + 1)).filter { !known.contains($0) }
                .prefix(request.mostRedelivered)
            for position in again { taken.entries.append(entry(.redelivery, position, keepsOrder, at: now)) }
            taken.redeliveredThrough = (redelivery.id, again.last ?? redelivery.upto)
        }
        return taken
    }

    mutating func settle(_ settlement: DeliverySettlement, keepsOrder: Bool = true, at now: Instant) {
        settlements.append(settlement)
        position = max(position, settlement.position)
        for report in settlement.reports {
            if report.result == .delivered { open[report.position] = nil }
            guard report.result == .givenUp || report.result != .delivered && report.wait != nil else { continue }
            let first = report.attempts > 0 ? open[report.position]?.firstFailedAt ?? now : nil
            open[report.position] = Open(
                subject: report.subject,
                runAt: report.result == .held && report.attempts == 0 && keepsOrder ? nil : report.wait.map { now + $0 } ?? now,
                attempts: report.attempts,
                firstFailedAt: first,
                isGivenUp: report.result == .givenUp
            )
        }
        if let through = settlement.redeliveredThrough, through.id == redelivery?.id {
            redelivery?.after = through.position
            if let again = redelivery, again.after >= again.upto { redelivery = nil }
        }
        for subject in Set(settlement.reports.compactMap(\.subject)) where keepsOrder {
            let isMoved = settlement.reports.contains {
                $0.subject == subject && ($0.result == .delivered || $0.result == .givenUp || $0.result != .held && $0.attempts > 0)
            }
            releaseFirst(of: subject, isMoved: isMoved, at: now)
        }
    }

    /// The next time at which an open delivery becomes due.
    func nextDue(after now: Instant) -> Instant? {
        open.values.compactMap { $0.isGivenUp ? nil : $0.runAt }.filter { $0 > now }.min()
    }

    /// The first of the entries that wait becomes due when nothing holds it.
    private mutating func releaseFirst(of subject: String, isMoved: Bool, at now: Instant) {
        let waiting = open.filter { $0.value.subject == subject && !$0.value.isGivenUp && $0.value.attempts == 0 }.keys.min()
        guard let waiting, isMoved || open[waiting]?.runAt == nil else { return }
        let holders = open.filter { $0.value.subject == subject && $0.key < waiting && !$0.value.isGivenUp }
        let until = holders.values.compactMap(\.firstFailedAt).max().map { $0 + .seconds(600) }
        open[waiting]?.runAt = max(until ?? now, now)
    }

    private func entry(_ kind: FeedEntry.Kind, _ position: Int64, _ keepsOrder: Bool, at now: Instant) -> FeedEntry {
        let subject = subjects[Int(position) - 1]
        let earlier = open.filter { $0.key < position && $0.value.subject == subject && subject != nil && !$0.value.isGivenUp }
        let hold = RetrySchedule.hold
        let holds: [Duration] = earlier.values.map { open in
            guard let first = open.firstFailedAt else { return hold }
            return first + hold - now
        }
        let held = holds.filter { $0 > .zero }.max()
        return FeedEntry(
            kind: kind,
            position: position,
            redeliveryID: kind == .redelivery ? redelivery?.id : nil,
            id: UUID(),
            type: "effect.granted",
            subject: subject,
            attempts: open[position]?.attempts ?? 0,
            heldFor: keepsOrder && kind != .redelivery ? held : nil,
            body: missingBodies.contains(position) ? nil : [UInt8](repeating: 1, count: bodySize)
        )
    }
}

/// One endpoint, its deliveries and its feed, under a clock that only the test moves.
struct EndpointScene {
    typealias Instant = ContinuousClock.Instant

    struct Sent: Hashable {
        let position: Int64
        let at: Duration
    }

    let start = Instant.now
    var now: Instant
    var feed: FakeFeed
    var deliveries: EndpointDeliveries
    var random: SeededGenerator
    var sent: [Sent] = []
    var attempts: [Int64: Int] = [:]
    var takes: [TakeRequest] = []
    var events: [EndpointDeliveries.Event] = []
    /// In flight, with the time of the answer.
    var flying: [(entry: FeedEntry, until: Instant)] = []
    var greatestBytes = 0
    let keepsOrder: Bool

    init(
        _ subjects: [String?],
        window: Int = 4,
        keepsOrder: Bool = true,
        perSecond: Int? = nil,
        seed: UInt64 = 1,
        failingFor: Duration? = nil,
        _ change: (inout FakeFeed) -> Void = { _ in }
    ) {
        now = start
        self.keepsOrder = keepsOrder
        feed = FakeFeed(subjects)
        change(&feed)
        random = SeededGenerator(seed: seed)
        let settings = EndpointSettings(
            url: "https://x/",
            keepsOrder: keepsOrder,
            window: window,
            perSecond: perSecond,
            timeout: .seconds(15),
            secretGeneration: 1,
            hasPreviousSecret: false
        )
        let lease = EndpointLease(
            name: "a",
            endpointID: UUID(),
            epoch: 1,
            settings: settings,
            position: feed.position,
            failures: 0,
            failingFor: failingFor,
            openFor: nil,
            probes: 0
        )
        deliveries = EndpointDeliveries(lease, limits: .init(longestWait: .seconds(600)), leaseEnd: now + .seconds(1_000_000), at: now)
    }

    var elapsed: Duration { now - start }
    var order: [Int64] { sent.map(\.position) }

    /// Does what the deliveries decide until that much time has passed, or nothing is left to do.
    ///
    /// - Parameters:
    ///   - latency: how long an attempt takes.
    ///   - slow: how long attempts at some positions take.
    ///   - answer: the outcome of an attempt.
    mutating func run(
        for duration: Duration,
        latency: Duration = .milliseconds(10),
        slow: [Int64: Duration] = [:],
        _ answer: (_ position: Int64, _ attempt: Int, _ elapsed: Duration) -> DeliveryOutcome
    ) {
        let end = now + duration
        var steps = 0
        while now < end, steps < 2_000_000 {
            steps += 1
            for (entry, _) in flying.filter({ $0.until <= now }).sorted(by: { $0.until < $1.until }) {
                let outcome = answer(entry.position, attempts[entry.position, default: 0], elapsed)
                events += deliveries.finished(entry.position, outcome, after: latency, at: now, using: &random)
            }
            flying.removeAll { $0.until <= now }
            greatestBytes = max(greatestBytes, deliveries.bytes)
            switch deliveries.next(at: now) {
            case .send(let entry):
                sent.append(Sent(position: entry.position, at: elapsed))
                attempts[entry.position, default: 0] += 1
                flying.append((entry, now + (slow[entry.position] ?? latency)))
            case .take(let request):
                takes.append(request)
                events += deliveries.took(feed.take(request, keepsOrder: keepsOrder, at: now), for: request, at: now)
            case .settle(let settlement):
                feed.settle(settlement, keepsOrder: keepsOrder, at: now)
                deliveries.settled(settlement, isOurs: true, at: now)
            case .wait(let instant):
                let next = min(instant, flying.map(\.until).min() ?? instant, feed.nextDue(after: now) ?? instant, end)
                precondition(next > now || next == end, "it waits for the past")
                now = next
                if let through = deliveries.readThrough, feed.hasWork(after: through, at: now) {
                    deliveries.polled(deliveries.settings, hasWork: true, leaseEnd: deliveries.leaseEnd)
                }
            case .end: return
            }
        }
        precondition(steps < 2_000_000, "a hot loop")
    }
}

extension DeliveryOutcome {
    static func status(_ status: Int, retryAfter: Duration? = nil) -> DeliveryOutcome {
        .answered(DeliveryAnswer(status: status, retryAfter: retryAfter, body: [], byteCount: 0))
    }
}
