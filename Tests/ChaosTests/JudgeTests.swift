import Testing

/// The judge of the chaos run must find each kind of damage: otherwise the run could not fail.
@Suite struct JudgeTests {
    /// A notification that was accepted twice, another whose sender never heard back, a forgery, what is no notification, a poisoned one
    /// that was refused before the antidote, and one from the future.
    struct Scene {
        var records: [BodyDigest: PostRecord] = [:]
        var state = FinalState()
        var expectation = Expectation()

        init() {
            record("first", .genuine(uuid: "u1"), sent: 3, accepted: 2)
            record("unheard", .genuine(uuid: "u2"), sent: 1, accepted: 0)
            record("forged", .forged, sent: 1, accepted: 1)
            record("misshapen", .misshapen, sent: 1, accepted: 0)
            records[Self.digest("misshapen")]?.refusals = [400]
            record("poisoned", .genuine(uuid: Self.poison.prefix + "3"), sent: 1, accepted: 1)
            record("ahead", .genuine(uuid: "u4"), isAhead: true, sent: 1, accepted: 1)
            let bodies = ["first", "first", "unheard", "forged", "poisoned", "ahead"]
            let results = ["applied", "duplicate", "superseded", "rejected", "no_effect", "no_effect"]
            for (index, (body, result)) in zip(bodies, results).enumerated() {
                state.events.append(.init(id: Int64(index + 1), digest: Self.digest(body)))
                state.outcomes.append(.init(eventID: Int64(index + 1), result: result))
            }
            state.attempts = [
                .init(eventID: 3, error: "killed_worker: 1 times the worker had only this event in its hands"),
                .init(eventID: 5, error: "sql P0001: \(Poison.message)"),
                .init(eventID: 5, error: "timed_out: 1 times the worker had only this event in its hands"),
                .init(eventID: 6, error: "signed_in_the_future in outer"),
            ]
            state.effects = ["Production granted 1", "Production granted 2"]
            state.books = ["order Production a | status=paid"]
            state.seen = ["u1", "u2", Self.poison.prefix + "3", "u4"]
            expectation.effects = state.effects
            expectation.books = state.books
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

    /// One kind of damage, and what the judge must say of it, no more and no less.
    struct Damage: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let make: @Sendable (inout Scene) -> Void
        let expected: [Violation]

        init(_ name: String, _ expected: [Violation], _ make: @escaping @Sendable (inout Scene) -> Void) {
            (testDescription, self.expected, self.make) = (name, expected, make)
        }
    }

    @Test func `a run that kept every promise is found innocent`() {
        #expect(Scene().violations == [])
    }

    @Test(arguments: damages) func `each broken promise is found`(damage: Damage) {
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
        Damage("a byte of a body was changed", [.eventFromNowhere(2), .lost(first, accepted: 2, stored: 1)]) {
            $0.state.events[1] = .init(id: 2, digest: Scene.digest("First"))
        },
        Damage("an event came from nowhere", [.eventFromNowhere(8)]) {
            $0.state.events.append(.init(id: 8, digest: Scene.digest("never sent")))
            $0.state.outcomes.append(.init(eventID: 8, result: "rejected"))
        },
        Damage("a body was stored once more than it was sent", [.storedMoreOftenThanSent(first, sent: 3, stored: 4)]) {
            for id in [8, 9] as [Int64] {
                $0.state.events.append(.init(id: id, digest: first))
                $0.state.outcomes.append(.init(eventID: id, result: "duplicate"))
            }
        },
        Damage("what is no notification was stored", [.misshapenTaken(Scene.digest("misshapen"))]) {
            $0.state.events.append(.init(id: 8, digest: Scene.digest("misshapen")))
            $0.state.outcomes.append(.init(eventID: 8, result: "rejected"))
        },
        Damage("a notification was refused", [.refused(first, status: 500)]) {
            $0.records[first]?.refusals = [503, 500]
        },
        Damage("an outcome is missing", [.withoutOutcome(2)]) { $0.state.outcomes.remove(at: 1) },
        Damage("an event waits for ever", [.stillReady(2), .withoutOutcome(2)]) {
            $0.state.outcomes.remove(at: 1)
            $0.state.ready = [2]
        },
        Damage("an event has two outcomes", [.severalOutcomes(2, count: 2)]) {
            $0.state.outcomes.append(.init(eventID: 2, result: "duplicate"))
        },
        Damage("an outcome is about no event", [.withoutEvent(9)]) {
            $0.state.outcomes.append(.init(eventID: 9, result: "applied"))
        },
        Damage("the program's own check has found something", [.notExactlyOnce(3)]) { $0.state.notExactlyOnce = [3] },
        Damage("an innocent event was blamed for a neighbour", [.blamed(3, error: "sql P0001: \(Poison.message)")]) {
            $0.state.attempts.append(.init(eventID: 3, error: "sql P0001: \(Poison.message)"))
        },
        Damage("an event was blamed for the database", [.blamed(1, error: "sql 55P03: canceling statement due to lock timeout")]) {
            $0.state.attempts.append(.init(eventID: 1, error: "sql 55P03: canceling statement due to lock timeout"))
        },
        Damage("an event of today was taken for one of tomorrow", [.blamed(2, error: "signed_in_the_future in outer")]) {
            $0.state.attempts.append(.init(eventID: 2, error: "signed_in_the_future in outer"))
        },
        Damage("an event was blamed for a death in company", [.blamed(3, error: "killed_worker: by test")]) {
            $0.state.attempts.append(.init(eventID: 3, error: "killed_worker: by test", wasAlone: false))
        },
        Damage("a poisoned event was never refused", [.poisonTaken(5)]) { $0.state.attempts.remove(at: 1) },
        Damage("an innocent event failed", [.wrongOutcome(3, result: "failed")]) {
            $0.state.outcomes[2] = .init(eventID: 3, result: "failed")
        },
        Damage("a forgery was applied", [.wrongOutcome(4, result: "applied")]) {
            $0.state.outcomes[3] = .init(eventID: 4, result: "applied")
        },
        Damage("a notification was applied twice", [.notAppliedOnce(uuid: "u1", times: 2)]) {
            $0.state.outcomes[1] = .init(eventID: 2, result: "superseded")
        },
        Damage("all copies of a notification are called duplicates", [.notAppliedOnce(uuid: "u2", times: 0)]) {
            $0.state.outcomes[2] = .init(eventID: 3, result: "duplicate")
        },
        Damage("a notification left no trace of having been seen", [.neverSeen(uuid: "u2", events: [3])]) { $0.state.seen.remove(at: 1) },
        Damage("a notification that is not there was seen", [.seenFromNowhere(uuid: "u5")]) { $0.state.seen.append("u5") },
        Damage("an effect is there twice", [.effectTwice("Production granted 1")]) { $0.state.effects.append("Production granted 1") },
        Damage("an effect is missing", [.effectMissing("Production granted 2")]) { $0.state.effects.removeLast() },
        Damage("an effect came from nowhere", [.effectFromNowhere("Production granted 3")]) {
            $0.state.effects.append("Production granted 3")
        },
        Damage("the books say something else", [.books("order Production a: status is pending, not paid")]) {
            $0.state.books = ["order Production a | status=pending"]
        },
    ]
}
