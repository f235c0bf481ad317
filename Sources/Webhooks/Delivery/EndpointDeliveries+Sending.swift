extension EndpointDeliveries {
    /// Puts the next entry that may be sent in flight.
    mutating func nextToSend(at now: Instant) -> FeedEntry? {
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
    mutating func releaseWaiting() {
        for entry in waiting { release(entry) }
        waiting = []
    }

    mutating func release(_ entry: FeedEntry) {
        bytes -= entry.body?.count ?? 0
        switch entry.kind {
        case .due: break
        case .next: live.release(entry.position)
        case .redelivery: again?.cursor.release(entry.position)
        }
        hasWork = true
    }

    /// Forgets an entry whose report says what becomes of it.
    mutating func finish(_ entry: FeedEntry) {
        bytes -= entry.body?.count ?? 0
        switch entry.kind {
        case .due: break
        case .next: live.finish(entry.position)
        case .redelivery: again?.cursor.finish(entry.position)
        }
    }
}
