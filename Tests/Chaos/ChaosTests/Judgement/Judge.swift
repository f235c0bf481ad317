import LivesTesting

/// Finds broken promises: a pure function of what was sent and answered, and of the database after the run.
struct Judge {
    let records: [BodyDigest: PostRecord]
    let state: FinalState
    let expectation: Expectation
    let poison: Poison

    /// All violations; empty for a run that kept every promise.
    func violations() -> [Violation] {
        bodies() + accounts() + attempts() + results() + effects()
    }

    /// Every body answered with 200 is stored exactly as sent, and every stored body was sent.
    private func bodies() -> [Violation] {
        var stored: [BodyDigest: Int] = [:]
        var violations: [Violation] = []
        for event in state.events {
            if records[event.digest] == nil { violations.append(.unknownEvent(event.id)) }
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
        case .malformed:
            if stored > 0 || record.accepted > 0 { violations.append(.malformedStored(digest)) }
        case .genuine, .forged:
            violations += record.refusals.filter { $0 != 503 }.sorted().map { .refused(digest, status: $0) }
        }
        return violations
    }

    /// Every event has exactly one outcome, and the queue is empty.
    private func accounts() -> [Violation] {
        let events = Set(state.events.map(\.id))
        let outcomes = Dictionary(state.outcomes.map { ($0.eventID, 1) }, uniquingKeysWith: +)
        var violations: [Violation] = state.ready.map { .stillReady($0) }
        violations += events.subtracting(outcomes.keys).sorted().map { .withoutOutcome($0) }
        violations += outcomes.filter { $0.value > 1 }.sorted { $0.key < $1.key }.map { .severalOutcomes($0.key, count: $0.value) }
        violations += Set(outcomes.keys).union(state.ready).subtracting(events).sorted().map { .withoutEvent($0) }
        return violations + state.notExactlyOnce.map { .notExactlyOnce($0) }
    }

    /// Attempts are counted only for poison events, for events from the future, and for events that ran alone in a worker that was killed
    /// or
    /// frozen. The queue cannot tell a kill from outside from one caused by the event.
    private func attempts() -> [Violation] {
        let attempts = Dictionary(grouping: state.attempts, by: \.eventID)
        return state.events.flatMap { event -> [Violation] in
            guard let record = records[event.digest] else { return [] }
            let isPoisoned = poison.matches(record)
            let causes = attempts[event.id] ?? []
            let wrong = causes.filter { attempt in
                switch attempt.cause {
                case .isolatedLoss: !attempt.wasAlone
                case .future: !record.isAhead
                case .poison: !isPoisoned
                case .other: true
                }
            }
            let violations = wrong.map { Violation.wronglyCounted(event.id, error: $0.error) }
            let wasNeverRefused = isPoisoned && !causes.contains { $0.cause == .poison }
            return violations + (wasNeverRefused ? [.poisonNeverRefused(event.id)] : [])
        }
    }

    /// Each event has an outcome allowed for its kind, and each notification counts once.
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
            case .forged, .malformed:
                if outcome.result != "rejected" { violations.append(.wrongOutcome(outcome.eventID, result: outcome.wording)) }
            }
        }
        violations += counted.filter { $0.value.count != 1 }.sorted { $0.key < $1.key }
            .map { .notAppliedOnce(uuid: $0.key, times: $0.value.count) }
        let (stored, seen) = (Set(counted.keys), Set(state.seen))
        violations += stored.subtracting(seen).sorted().map { .neverSeen(uuid: $0, events: counted[$0, default: []]) }
        return violations + seen.subtracting(stored).sorted().map { .seenButNotStored(uuid: $0) }
    }

    /// Without `failed`: injected faults must not fail a genuine event.
    private static let resultsOfGenuine: Set = ["applied", "superseded", "no_effect", "duplicate", "unhandled"]

    /// Every effect exists exactly once and for an event that was sent, and the ledger equals the reference.
    private func effects() -> [Violation] {
        let expected = Set(expectation.effects)
        let found = Dictionary(state.effects.map { ($0, 1) }, uniquingKeysWith: +)
        var violations: [Violation] = []
        violations += found.filter { $0.value > 1 }.keys.sorted().map { .effectTwice($0) }
        violations += expected.subtracting(found.keys).sorted().map { .effectMissing($0) }
        violations += Set(found.keys).subtracting(expected).sorted().map { .unexpectedEffect($0) }
        return violations + LedgerDifference.between(expected: expectation.ledger, found: state.ledger).map { .ledger($0) }
    }
}
