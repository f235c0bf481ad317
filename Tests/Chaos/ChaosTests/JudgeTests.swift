import Testing

/// The judge must find each kind of damage: otherwise a run could not fail.
@Suite struct JudgeTests {
    /// A run that kept every promise. Its posts: a notification accepted twice, one whose sender got no answer, a forgery, a malformed
    /// body, a poison event refused until the poison was removed, and an event signed in the future.
    struct Scene {
        var records: [BodyDigest: PostRecord] = [:]
        var state = FinalState()
        var expectation = Expectation()

        init() {
            record("first", .genuine(uuid: "u1"), sent: 3, accepted: 2)
            record("unanswered", .genuine(uuid: "u2"), sent: 1, accepted: 0)
            record("forged", .forged, sent: 1, accepted: 1)
            record("malformed", .malformed, sent: 1, accepted: 0)
            records[Self.digest("malformed")]?.refusals = [400]
            record("poisoned", .genuine(uuid: Self.poison.prefix + "3"), sent: 1, accepted: 1)
            record("ahead", .genuine(uuid: "u4"), isAhead: true, sent: 1, accepted: 1)
            let bodies = ["first", "first", "unanswered", "forged", "poisoned", "ahead"]
            let results = ["applied", "duplicate", "superseded", "rejected", "no_effect", "no_effect"]
            for (index, (body, result)) in zip(bodies, results).enumerated() {
                state.events.append(.init(id: Int64(index + 1), digest: Self.digest(body)))
                state.outcomes.append(.init(eventID: Int64(index + 1), result: result))
            }
            state.attempts = [
                .init(eventID: 3, error: "killed_worker: 1 times the worker had only this event in its hands"),
                .init(eventID: 5, error: "\(Poison.message) (SQLSTATE P0001)"),
                .init(eventID: 5, error: "timed_out: 1 times the worker had only this event in its hands"),
                .init(eventID: 6, error: "signed_in_the_future in outer"),
            ]
            state.effects = ["Production granted 1", "Production granted 2"]
            state.ledger = ["order Production a | status=paid"]
            state.seen = ["u1", "u2", Self.poison.prefix + "3", "u4"]
            expectation.effects = state.effects
            expectation.ledger = state.ledger
        }

        static let poison = Poison(events: 20_000)

        static func digest(_ body: String) -> BodyDigest { BodyDigest(of: Array(body.utf8)) }

        mutating func record(_ body: String, _ kind: PostRecord.Kind, isAhead: Bool = false, sent: Int, accepted: Int) {
            var record = PostRecord(kind, isAhead: isAhead)
            (record.sent, record.accepted) = (sent, accepted)
            records[Self.digest(body)] = record
        }

        var violations: [Violation] { Judge(records: records, state: state, expectation: expectation, poison: Self.poison).violations() }
    }

    /// One kind of damage, and exactly the violations that the judge must report.
    struct Damage: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let make: @Sendable (inout Scene) -> Void
        let expected: [Violation]

        init(_ name: String, _ expected: [Violation], _ make: @escaping @Sendable (inout Scene) -> Void) {
            (testDescription, self.expected, self.make) = (name, expected, make)
        }
    }

    @Test func `a run that kept every promise has no violations`() {
        #expect(Scene().violations == [])
    }

    @Test(arguments: damages) func `each broken promise is reported`(damage: Damage) {
        var scene = Scene()
        damage.make(&scene)
        #expect(scene.violations == damage.expected)
    }

    private static let first = Scene.digest("first")

    static let damages = [
        Damage("an event that was answered with 200 is gone", [.lost(first, accepted: 2, stored: 1)]) {
            $0.state.events.remove(at: 1)
            $0.state.outcomes.remove(at: 1)
        },
        Damage("a byte of a body was changed", [.unknownEvent(2), .lost(first, accepted: 2, stored: 1)]) {
            $0.state.events[1] = .init(id: 2, digest: Scene.digest("First"))
        },
        Damage("an event was never sent", [.unknownEvent(8)]) {
            $0.state.events.append(.init(id: 8, digest: Scene.digest("never sent")))
            $0.state.outcomes.append(.init(eventID: 8, result: "rejected"))
        },
        Damage("a body was stored more often than it was sent", [.storedMoreOftenThanSent(first, sent: 3, stored: 4)]) {
            for id in [8, 9] as [Int64] {
                $0.state.events.append(.init(id: id, digest: first))
                $0.state.outcomes.append(.init(eventID: id, result: "duplicate"))
            }
        },
        Damage("a malformed body was stored", [.malformedStored(Scene.digest("malformed"))]) {
            $0.state.events.append(.init(id: 8, digest: Scene.digest("malformed")))
            $0.state.outcomes.append(.init(eventID: 8, result: "rejected"))
        },
        Damage("a notification was refused", [.refused(first, status: 500)]) {
            $0.records[first]?.refusals = [503, 500]
        },
        Damage("an outcome is missing", [.withoutOutcome(2)]) { $0.state.outcomes.remove(at: 1) },
        Damage("an event stays in the queue", [.stillReady(2), .withoutOutcome(2)]) {
            $0.state.outcomes.remove(at: 1)
            $0.state.ready = [2]
        },
        Damage("an event has two outcomes", [.severalOutcomes(2, count: 2)]) {
            $0.state.outcomes.append(.init(eventID: 2, result: "duplicate"))
        },
        Damage("an outcome has no event", [.withoutEvent(9)]) {
            $0.state.outcomes.append(.init(eventID: 9, result: "applied"))
        },
        Damage("events_not_exactly_once() returns an event", [.notExactlyOnce(3)]) { $0.state.notExactlyOnce = [3] },
        Damage("an attempt was counted for another event's failure", [.wronglyCounted(3, error: "\(Poison.message) (SQLSTATE P0001)")]) {
            $0.state.attempts.append(.init(eventID: 3, error: "\(Poison.message) (SQLSTATE P0001)"))
        },
        Damage(
            "an attempt was counted for a failure of the database",
            [.wronglyCounted(1, error: "canceling statement due to lock timeout (SQLSTATE 55P03)")]
        ) {
            $0.state.attempts.append(.init(eventID: 1, error: "canceling statement due to lock timeout (SQLSTATE 55P03)"))
        },
        Damage("a present event was treated as signed in the future", [.wronglyCounted(2, error: "signed_in_the_future in outer")]) {
            $0.state.attempts.append(.init(eventID: 2, error: "signed_in_the_future in outer"))
        },
        Damage("a lost batch of several events counted as an attempt", [.wronglyCounted(3, error: "killed_worker: by test")]) {
            $0.state.attempts.append(.init(eventID: 3, error: "killed_worker: by test", wasAlone: false))
        },
        Damage("a poisoned event was never refused", [.poisonNeverRefused(5)]) { $0.state.attempts.remove(at: 1) },
        Damage("an event that is not poison failed", [.wrongOutcome(3, result: "failed")]) {
            $0.state.outcomes[2] = .init(eventID: 3, result: "failed")
        },
        Damage("a forgery was applied", [.wrongOutcome(4, result: "applied")]) {
            $0.state.outcomes[3] = .init(eventID: 4, result: "applied")
        },
        Damage("a notification was applied twice", [.notAppliedOnce(uuid: "u1", times: 2)]) {
            $0.state.outcomes[1] = .init(eventID: 2, result: "superseded")
        },
        Damage("all copies of a notification are duplicates", [.notAppliedOnce(uuid: "u2", times: 0)]) {
            $0.state.outcomes[2] = .init(eventID: 3, result: "duplicate")
        },
        Damage("a notification is not in seen_notifications", [.neverSeen(uuid: "u2", events: [3])]) { $0.state.seen.remove(at: 1) },
        Damage("seen_notifications has a notification that was not stored", [.seenButNotStored(uuid: "u5")]) { $0.state.seen.append("u5") },
        Damage("an effect is there twice", [.effectTwice("Production granted 1")]) { $0.state.effects.append("Production granted 1") },
        Damage("an effect is missing", [.effectMissing("Production granted 2")]) { $0.state.effects.removeLast() },
        Damage("an effect was not expected", [.unexpectedEffect("Production granted 3")]) {
            $0.state.effects.append("Production granted 3")
        },
        Damage("the ledger differs from the reference", [.ledger("order Production a: status is pending, not paid")]) {
            $0.state.ledger = ["order Production a | status=pending"]
        },
    ]
}
