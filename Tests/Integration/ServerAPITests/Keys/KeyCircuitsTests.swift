import AppStore
import Outbox
import Testing

@testable import ServerAPI

/// Which key is used, which wait, and what the look-alike answers 401 mean.
struct KeyCircuitsTests {
    private let lane = ScriptedAPI.production
    private let start = ScriptedAPI.start
    private let new: APIKey
    private let old: APIKey

    init() throws {
        new = try ScriptedAPI.key("NEW")
        old = try ScriptedAPI.key("OLD")
    }

    private func choice(_ circuits: KeyCircuits, _ tried: Set<APIKey.ID> = [], after seconds: Int = 0) -> String {
        switch circuits.choose(of: [new, old], for: lane, tried: tried, now: start.advanced(by: .seconds(seconds))) {
        case .use(let key): key.id.keyID
        case .wait(let delay): "wait \(delay.components.seconds)"
        case .none: "none"
        }
    }

    @discardableResult
    private func record(
        _ circuits: inout KeyCircuits,
        _ key: APIKey,
        _ lane: CallLane? = nil,
        refused: Bool,
        after seconds: Int = 0,
        skew: Int = 0
    ) -> Bool {
        let now = start.advanced(by: .seconds(seconds))
        return circuits.record(key, lane ?? self.lane, isRefused: refused, date: now.advanced(by: .seconds(-skew)), now: now)
    }

    @Test func `the first key is used, after a 401 the other one, and a key that works stays in use`() {
        var circuits = KeyCircuits()
        #expect(choice(circuits) == "NEW")
        record(&circuits, new, refused: true)
        #expect(choice(circuits, [new.id]) == "OLD")
        record(&circuits, old, refused: false)
        #expect(choice(circuits) == "OLD" && choice(circuits, after: 3600) == "OLD")
        // The other environment has a state of its own.
        #expect(circuits.choose(of: [new, old], for: ScriptedAPI.sandbox, tried: [], now: start).keyID == "NEW")
        // When the old one is revoked, the new one is tried again.
        record(&circuits, old, refused: true, after: 3600)
        #expect(choice(circuits, [old.id], after: 3600) == "NEW")
    }

    @Test func `a key that is refused again and again waits for 1, 2, 4, 8 and then 15 minutes`() {
        var circuits = KeyCircuits()
        record(&circuits, old, refused: true)
        var now = 0
        for minutes in [1, 2, 4, 8, 15, 15] {
            record(&circuits, new, refused: true, after: now)
            record(&circuits, old, refused: true, after: now)
            #expect(choice(circuits, after: now) == "wait \(minutes * 60)")
            #expect(choice(circuits, after: now + minutes * 60 - 1) == "wait 1")
            now += minutes * 60
            #expect(choice(circuits, after: now) == "NEW")
        }
        #expect(record(&circuits, new, refused: false, after: now) == true)
        #expect(choice(circuits, after: now) == "NEW")
        #expect(record(&circuits, new, refused: false, after: now) == false)
    }

    @Test func `requests that were in flight together count as one refusal`() {
        var circuits = KeyCircuits()
        #expect(record(&circuits, new, refused: true) == true)
        for second in 1...20 { #expect(record(&circuits, new, refused: true, after: second) == false) }
        let choice = circuits.choose(of: [new], for: lane, tried: [], now: start.advanced(by: .seconds(20)))
        if case .wait(let delay) = choice { #expect(delay == .seconds(60)) } else { Issue.record("\(choice)") }
    }

    @Test func `without a key there is nothing to use`() {
        let none = KeyCircuits().choose(of: [], for: lane, tried: [], now: start)
        if case .none = none {} else { Issue.record("\(none)") }
    }

    @Test func `a clock that differs by more than 55 seconds is the cause, ahead or behind`() {
        for (skew, expected) in [(56, "56 s ahead of Apple's"), (-120, "120 s behind Apple's")] {
            var circuits = KeyCircuits()
            record(&circuits, new, refused: true, skew: skew)
            #expect(circuits.diagnosis(new.id, lane) == .clock(.seconds(skew)))
            #expect(circuits.diagnosis(new.id, lane).explanation.contains(expected))
        }
        var circuits = KeyCircuits()
        record(&circuits, new, refused: true, skew: 55)
        #expect(circuits.diagnosis(new.id, lane) == .unknown)
    }

    @Test func `other answers tell the causes apart`() throws {
        var circuits = KeyCircuits()
        record(&circuits, new, refused: true)
        #expect(circuits.diagnosis(new.id, lane) == .unknown)

        var unreleased = circuits
        record(&unreleased, new, ScriptedAPI.sandbox, refused: false)
        #expect(unreleased.diagnosis(new.id, lane) == .notReleased)

        var revoked = circuits
        record(&revoked, old, refused: false)
        #expect(revoked.diagnosis(new.id, lane) == .key)

        var issuer = circuits
        let foreign = try ScriptedAPI.key("FOREIGN", issuer: "69a6de70-0000-47e3-e053-5b8c7c11a4d1")
        record(&issuer, foreign, refused: false)
        #expect(issuer.diagnosis(new.id, lane) == .issuer("69a6de70-0000-47e3-e053-5b8c7c11a4d1"))

        var bundle = circuits
        record(&bundle, new, CallLane("com.example.other", .production), refused: false)
        #expect(bundle.diagnosis(new.id, lane) == .app(works: "com.example.other"))
        let causes: [KeyRefusal] = [.notReleased, .key, .issuer("i"), .app(works: "b"), .revoked, .unknown, .clock(.seconds(60))]
        #expect(Set(causes.map(\.code)) == Set(KeyRefusal.codes) && Set(causes.map(\.explanation)).count == causes.count)
    }

    /// Answers of before the refusal say nothing of a key that was good then.
    @Test func `a key that was good here is called revoked, unless later answers tell another cause`() {
        var circuits = KeyCircuits()
        record(&circuits, new, refused: false)
        record(&circuits, new, ScriptedAPI.sandbox, refused: false)
        record(&circuits, new, CallLane("com.example.other", .production), refused: false)
        record(&circuits, new, refused: true, after: 60)
        #expect(circuits.diagnosis(new.id, lane) == .revoked)
        record(&circuits, new, ScriptedAPI.sandbox, refused: false, after: 61)
        #expect(circuits.diagnosis(new.id, lane) == .notReleased)
    }

    @Test func `nothing is known of a key that a reload puts in the place of another one`() throws {
        var circuits = KeyCircuits()
        record(&circuits, new, refused: true)
        let corrected = try ScriptedAPI.key("NEW")
        #expect(circuits.choose(of: [corrected], for: lane, tried: [], now: start).keyID == "NEW")
        #expect(record(&circuits, corrected, refused: false) == false)
        #expect(circuits.choose(of: [new], for: lane, tried: [], now: start).keyID == "NEW")
    }

    @Test func `a refusal of before the clock was set back does not last`() {
        var circuits = KeyCircuits()
        record(&circuits, new, refused: true, after: 3 * 3600)
        let choice = circuits.choose(of: [new], for: lane, tried: [], now: start)
        #expect(choice.keyID == new.id.keyID)
    }
}

extension KeyCircuits.Choice {
    fileprivate var keyID: String? {
        if case .use(let key) = self { key.id.keyID } else { nil }
    }
}
