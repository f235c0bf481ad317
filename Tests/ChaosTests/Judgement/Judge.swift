import LivesTesting

/// Says which promises were broken: a pure function of what was sent and answered, and of what the database holds in the end.
struct Judge {
    let records: [BodyDigest: PostRecord]
    let state: FinalState
    let expectation: Expectation
    let poison: Poison

    /// All violations; empty for a run in which every promise was kept.
    func violations() -> [Violation] {
        bodies() + accounts() + attempts() + results() + effects()
    }

    /// Everything answered with 200 is there exactly as sent, and nothing came from nowhere.
    private func bodies() -> [Violation] {
        var stored: [BodyDigest: Int] = [:]
        var violations: [Violation] = []
        for event in state.events {
            if records[event.digest] == nil { violations.append(.eventFromNowhere(event.id)) }
            stored[event.digest, default: 0] += 1
        }
        let broken = records.compactMap { digest, record in
            let found = Self.violations(of: digest, record, stored: stored[digest, default: 0])
            return found.isEmpty ? nil : (digest, found)
        }
        return violations + broken.sorted { $0.0 < $1.0 }.flatMap(\.1)
    }

    private static func violations(of digest: BodyDigest, _ record: PostRecord, stored: Int) -> [Violation] {
        var violations: [Violation] = []
        if stored < record.accepted { violations.append(.lost(digest, accepted: record.accepted, stored: stored)) }
        if stored > record.sent { violations.append(.storedMoreOftenThanSent(digest, sent: record.sent, stored: stored)) }
        switch record.kind {
        case .misshapen:
            if stored > 0 || record.accepted > 0 { violations.append(.misshapenTaken(digest)) }
        case .genuine, .forged:
            violations += record.refusals.filter { $0 != 503 }.sorted().map { .refused(digest, status: $0) }
        }
        return violations
    }

    /// Every event has exactly one outcome, and none waits.
    private func accounts() -> [Violation] {
        let events = Set(state.events.map(\.id))
        let outcomes = Dictionary(state.outcomes.map { ($0.eventID, 1) }, uniquingKeysWith: +)
        var violations: [Violation] = state.ready.map { .stillReady($0) }
        violations += events.subtracting(outcomes.keys).sorted().map { .withoutOutcome($0) }
        violations += outcomes.filter { $0.value > 1 }.sorted { $0.key < $1.key }.map { .severalOutcomes($0.key, count: $0.value) }
        violations += Set(outcomes.keys).union(state.ready).subtracting(events).sorted().map { .withoutEvent($0) }
        return violations + state.notExactlyOnce.map { .notExactlyOnce($0) }
    }

    /// No event was blamed for what it did not do: the attempts that counted are those of the poisoned, of those from the future, and of
    /// those that were alone with a worker that was killed or frozen, which nobody can tell from a murder.
    private func attempts() -> [Violation] {
        let attempts = Dictionary(grouping: state.attempts, by: \.eventID)
        return state.events.flatMap { event -> [Violation] in
            guard let record = records[event.digest] else { return [] }
            let isPoisoned = poison.holds(record)
            let causes = attempts[event.id] ?? []
            let wrong = causes.filter { attempt in
                switch attempt.cause {
                case .suspicion: !attempt.wasAlone
                case .future: !record.isAhead
                case .poison: !isPoisoned
                case .other: true
                }
            }
            let blamed = wrong.map { Violation.blamed(event.id, error: $0.error) }
            let isSpared = isPoisoned && !causes.contains { $0.cause == .poison }
            return blamed + (isSpared ? [.poisonTaken(event.id)] : [])
        }
    }

    /// Each event became what such an event may become, and each notification counted once.
    private func results() -> [Violation] {
        let digests = Dictionary(state.events.map { ($0.id, $0.digest) }, uniquingKeysWith: { one, _ in one })
        var counted: [String: [Int64]] = [:]
        var violations: [Violation] = []
        for outcome in state.outcomes {
            guard let kind = digests[outcome.eventID].flatMap({ records[$0]?.kind }) else { continue }
            switch kind {
            case .genuine(let uuid):
                counted[uuid, default: []] += outcome.result == "duplicate" ? [] : [outcome.eventID]
                if !Self.resultsOfGenuine.contains(outcome.result) {
                    violations.append(.wrongOutcome(outcome.eventID, result: outcome.wording))
                }
            case .forged, .misshapen:
                if outcome.result != "rejected" { violations.append(.wrongOutcome(outcome.eventID, result: outcome.wording)) }
            }
        }
        violations += counted.filter { $0.value.count != 1 }.sorted { $0.key < $1.key }
            .map { .notAppliedOnce(uuid: $0.key, times: $0.value.count) }
        let (stored, seen) = (Set(counted.keys), Set(state.seen))
        violations += stored.subtracting(seen).sorted().map { .neverSeen(uuid: $0, events: counted[$0, default: []]) }
        return violations + seen.subtracting(stored).sorted().map { .seenFromNowhere(uuid: $0) }
    }

    /// `failed` is none of them: what only suffered from the faults around it must not be blamed.
    private static let resultsOfGenuine: Set = ["applied", "superseded", "no_effect", "duplicate", "unhandled"]

    /// Every effect exists exactly once and for an event that was sent, and the books are those of the reference.
    private func effects() -> [Violation] {
        let expected = Set(expectation.effects)
        let found = Dictionary(state.effects.map { ($0, 1) }, uniquingKeysWith: +)
        var violations: [Violation] = []
        violations += found.filter { $0.value > 1 }.keys.sorted().map { .effectTwice($0) }
        violations += expected.subtracting(found.keys).sorted().map { .effectMissing($0) }
        violations += Set(found.keys).subtracting(expected).sorted().map { .effectFromNowhere($0) }
        return violations + BookDifference.between(expected: expectation.books, found: state.books).map { .books($0) }
    }
}
