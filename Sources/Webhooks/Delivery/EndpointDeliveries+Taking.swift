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
    func nextTake(at now: Instant) -> TakeRequest? {
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
