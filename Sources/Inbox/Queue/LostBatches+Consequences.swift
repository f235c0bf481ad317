import Postgres
import SQL

extension LostBatches {
    /// What is to be written because of lost batches, or of events that were given up.
    struct Consequences {
        private let rules: Rules
        private let events: [Int64: ClaimedEvent]
        private var closed: [ClaimedBatch.Lane] = []
        private var noted: [ClaimedBatch.Lane] = []
        private var respited: [(lane: ClaimedBatch.Lane, eventID: Int64)] = []
        private(set) var suspects: Set<Int64> = []
        private(set) var deaths: [(event: ClaimedEvent, delay: Duration, reason: String)] = []
        private(set) var failures: [(event: ClaimedEvent, reason: String)] = []

        /// - Parameter events: those that this transaction holds.
        init(rules: Rules, events: [ClaimedEvent]) {
            self.rules = rules
            self.events = Dictionary(uniqueKeysWithValues: events.map { ($0.eventID, $0) })
        }

        var isEmpty: Bool { closed.isEmpty && noted.isEmpty && respited.isEmpty }

        var lost: Int { closed.count + respited.count }

        mutating func add(_ verdict: Verdict, of lane: ClaimedBatch.Lane) {
            switch verdict {
            case .later:
                return
            case .noted:
                noted.append(lane)
                return
            case .respite(let eventID):
                respited.append((lane, eventID))
                return
            case .suspects(let eventIDs):
                suspects.formUnion(eventIDs)
            case .death(let eventID, let reason):
                guard let event = events[eventID] else { return }
                // Two markers may be about one event: a worker that took it before its first one was judged gave it a second.
                guard !isJudged(eventID) else { break }
                var generator = SystemRandomNumberGenerator()
                if let delay = rules.deaths.delay(afterFailures: event.deaths + 1, using: &generator) {
                    deaths.append((event, delay, reason))
                } else {
                    failures.append((event, reason))
                }
            }
            closed.append(lane)
        }

        private func isJudged(_ eventID: Int64) -> Bool {
            deaths.contains { $0.event.eventID == eventID } || failures.contains { $0.event.eventID == eventID }
        }

        var statements: [Statement] {
            let failed = failures.map { event, reason in
                SettlementPlan.Settled(
                    event: event,
                    attempts: event.attempts + 1,
                    outcome: Outcome(.failed, reason: reason),
                    error: Self.account(of: reason, deaths: event.deaths + 1)
                )
            }
            return [suspicion, postponement, respite, ClaimedBatch.settle(failed, closing: closed)]
        }

        private static func account(of reason: String, deaths: Int) -> String {
            "\(reason): \(deaths) times the worker had only this event in its hands"
        }

        /// A suspect whose process died while it went on beside others lets these go first, and is alone to the end the next time.
        private var suspicion: Statement {
            Statement(
                .isolateLostEvents,
                ["died_beside_others": ClaimedBatch.lossBesideOthers, "event_ids": suspects.sorted()]
            )
        }

        private var postponement: Statement {
            Statement(
                .postponeLostEvents,
                [
                    "event_ids": deaths.map(\.event.eventID), "delays": deaths.map(\.delay.wholeMilliseconds),
                    "errors": deaths.map { Self.account(of: $0.reason, deaths: $0.event.deaths + 1) },
                ]
            )
        }

        /// An isolated event does not run before it is judged.
        private var respite: Statement {
            Statement(
                .noteLostBatches,
                [
                    "lanes": respited.map(\.lane) + noted, "delay": (rules.grace + .seconds(2)).wholeMilliseconds,
                    "event_ids": respited.map(\.eventID),
                ]
            )
        }
    }
}

/// What a look for lost batches found.
package struct LossReport: Sendable, Hashable {
    /// Batches that ended without a commit although their process said nothing, or whose only event has to wait until it is certain.
    package var lost = 0
    /// Events that run alone from now on.
    package var suspects = 0
    /// Deaths of a process, or batches given up, that are one event's fault.
    package var deaths = 0
    /// Events that had their last death.
    package var failed = 0
    /// Whether an event that has to run alone was due before the look, or is now.
    package var suspectsAreDue: Bool
    /// Whether there were more lost batches than one look judges.
    var hasMore = false

    init(suspectsAreDue: Bool) {
        self.suspectsAreDue = suspectsAreDue
    }

    mutating func add(_ consequences: LostBatches.Consequences) {
        lost += consequences.lost
        suspects += consequences.suspects.count
        deaths += consequences.deaths.count + consequences.failures.count
        failed += consequences.failures.count
        suspectsAreDue = suspectsAreDue || !consequences.suspects.isEmpty
    }

    mutating func add(_ other: LossReport) {
        lost += other.lost
        suspects += other.suspects
        deaths += other.deaths
        failed += other.failed
        suspectsAreDue = suspectsAreDue || other.suspectsAreDue
        hasMore = other.hasMore
    }
}
