import Postgres
import Testing

@testable import Inbox

/// The decisions of the queue that need no database.
struct InboxQueueDecisionTests {
    @Test func `a preparation is allowed a multiple of what was usual, within bounds`() {
        var patience = Patience(minimum: .seconds(1), maximum: .seconds(30))
        #expect(patience.bound(for: 100) == .seconds(1), "nothing is known yet, and the innocent do not wait for long")
        patience.took(.milliseconds(50), events: 100)
        #expect(patience.bound(for: 100) == .seconds(1))
        patience.took(.seconds(1), events: 100)
        #expect(patience.bound(for: 100) == .seconds(1), "one slow batch may be one slow event")
        patience.took(.seconds(2), events: 100)
        #expect(patience.bound(for: 100) == .seconds(8))
        #expect(patience.bound(for: 1000) == .seconds(30))
        for _ in 0..<40 { patience.took(.milliseconds(50), events: 100) }
        #expect(patience.bound(for: 100) == .seconds(1))
    }

    @Test func `large batches that are slow are usual, whatever small ones come between them`() {
        var patience = Patience(minimum: .milliseconds(400), maximum: .seconds(30), factor: 4)
        for _ in 0..<2 {
            patience.took(.milliseconds(600), events: 100)
            patience.took(.milliseconds(4), events: 100)
        }
        // Half of the 600 ms are believed, a tenth is forgotten, and four times the rest is allowed.
        #expect(patience.bound(for: 100) > .milliseconds(1000))
    }

    @Test(arguments: [1, 15, 16, 100])
    func `a bound that was too tight doubles until batches of any size fit`(events: Int) {
        var patience = Patience(minimum: .seconds(1), maximum: .seconds(30))
        patience.took(.milliseconds(1), events: 100)
        var bounds: [Duration] = []
        for _ in 0..<6 {
            bounds.append(patience.bound(for: events))
            patience.exceeded(bounds[bounds.count - 1])
        }
        #expect(bounds == [.seconds(1), .seconds(2), .seconds(4), .seconds(8), .seconds(16), .seconds(30)])
        for _ in 0..<6 { patience.took(.milliseconds(1), events: events) }
        #expect(patience.bound(for: events) == .seconds(1))
    }

    @Test func `one event that hangs does not make larger batches wait for longer than twice the bound`() {
        var patience = Patience(minimum: .seconds(1), maximum: .seconds(30))
        patience.took(.milliseconds(1), events: 1)
        patience.exceeded(patience.bound(for: 1))
        #expect(patience.bound(for: 100) == .seconds(2))
    }

    @Test func `a suspect is allowed a second, and twice as much after each of its first failures`() {
        let configuration = QueueConfiguration()
        #expect((0...4).map { configuration.suspectPatience(afterFailures: $0) } == [1, 2, 4, 4, 4].map { .seconds($0) })
    }

    @Test func `another server has the mark forgotten, though no connection was lost, and the same one does not`() {
        let patience = Patience(minimum: .seconds(1), maximum: .seconds(1))
        let memory = QueueMemory(patience: patience, statementPatience: patience, limit: BatchLimit(maximum: 100))
        let first = QueuePosition(runAt: PostgresTimestamp(microsecondsSince2000: 10), eventID: 7)
        func probe(from: QueuePosition = .start, ofServerSince start: Int64) -> LowWaterMark.Probe {
            LowWaterMark.Probe(
                from: from,
                serverStart: PostgresTimestamp(microsecondsSince2000: start),
                first: first,
                at: PostgresTimestamp(microsecondsSince2000: 9_000_000),
                xmin: 5,
                xid: 5
            )
        }
        _ = memory.nextClaim()
        for _ in 0..<2 { memory.observe(probe(ofServerSince: 1)) }
        #expect(memory.nextClaim().position == first)
        memory.claimed(1, upTo: QueuePosition(runAt: first.runAt, eventID: 9))
        memory.observe(probe(from: first, ofServerSince: 1))
        #expect(memory.mark == first)
        memory.observe(probe(from: first, ofServerSince: 2))
        #expect(
            memory.nextClaim() == QueueMemory.ClaimStart(position: .start, look: LowWaterMark.Look(from: .start, isNumbered: true))
        )
        #expect(memory.nextClaim().position == .start, "nor does it go on where one ended on the other server")
    }

    @Test func `a claim goes on where a full one ended, but begins at the mark with each look at the queue`() {
        let patience = Patience(minimum: .seconds(1), maximum: .seconds(1))
        let memory = QueueMemory(patience: patience, statementPatience: patience, limit: BatchLimit(maximum: 100))
        let end = QueuePosition(runAt: PostgresTimestamp(microsecondsSince2000: 10), eventID: 7)
        let start = ContinuousClock.now
        #expect(
            memory.nextClaim(at: start) == QueueMemory.ClaimStart(position: .start, look: LowWaterMark.Look(from: .start, isNumbered: true))
        )
        memory.claimed(1, upTo: end)
        #expect(memory.nextClaim(at: start + .milliseconds(1)) == QueueMemory.ClaimStart(position: end, isContinuation: true))
        #expect(
            memory.nextClaim(at: start + .milliseconds(21))
                == QueueMemory.ClaimStart(position: .start, look: LowWaterMark.Look(from: .start, isNumbered: true))
        )
        #expect(memory.nextClaim(at: start + .milliseconds(22)).isContinuation)
        memory.claimed(1, upTo: nil)
        #expect(memory.nextClaim(at: start + .milliseconds(23)) == QueueMemory.ClaimStart(position: .start))
    }

    @Test func `without a mark claims begin behind what the latest look walked over, or where one ended behind that`() {
        let patience = Patience(minimum: .seconds(1), maximum: .seconds(1))
        let memory = QueueMemory(patience: patience, statementPatience: patience, limit: BatchLimit(maximum: 100))
        let now = ContinuousClock.now
        func position(_ id: Int64) -> QueuePosition { QueuePosition(runAt: PostgresTimestamp(microsecondsSince2000: 10), eventID: id) }
        func continuation(_ id: Int64) -> QueueMemory.ClaimStart { .init(position: position(id), isContinuation: true) }
        func see(_ first: Int64) {
            let start = PostgresTimestamp(microsecondsSince2000: 1)
            let clock = PostgresTimestamp(microsecondsSince2000: 9_000_000)
            memory.observe(LowWaterMark.Probe(from: .start, serverStart: start, first: position(first), at: clock, xmin: 5))
        }
        _ = memory.nextClaim(at: now)
        #expect(memory.claimAfterLook() == QueueMemory.ClaimStart(position: .start))
        see(7)
        #expect(memory.claimAfterLook() == QueueMemory.ClaimStart(position: position(7)))
        memory.claimed(1, upTo: position(9))
        #expect(memory.nextClaim(at: now) == continuation(9))
        #expect(memory.claimAfterLook() == QueueMemory.ClaimStart(position: position(7)))
        see(11)
        #expect(memory.nextClaim(at: now) == continuation(11))
        memory.claimed(0, upTo: nil)
        #expect(memory.nextClaim(at: now) == continuation(11))
        #expect(memory.mark == .start, "from where it is repeated when it finds nothing")
        memory.connectionWasLost()
        _ = memory.nextClaim(at: now)
        #expect(memory.claimAfterLook().position == .start)
    }

    @Test func `a suspect waits for those inside, keeps newcomers out, and lets them all in afterwards`() {
        var gate = SoloGateState<String>()
        let step1 = gate.enter("a")
        #expect(step1)
        let step2 = gate.enter("b")
        #expect(step2)
        let step3 = gate.reserve()
        #expect(step3)
        let step4 = gate.reserve()
        #expect(!step4, "one suspect at a time")
        let step5 = gate.enter("c")
        #expect(!step5)
        let step6 = gate.enterAlone("solo")
        #expect(!step6)
        let step7 = gate.enter("d")
        #expect(!step7)
        let step8 = gate.leave()
        #expect(step8 == [])
        let step9 = gate.leave()
        #expect(step9 == ["solo"])
        let step10 = gate.leave()
        #expect(step10 == ["c", "d"])
        #expect(gate.running == 2)
        let step11 = gate.enter("e")
        #expect(step11)
    }

    @Test func `what was given up is not waited for, but remembered`() {
        var gate = SoloGateState<String>()
        let step12 = gate.enter("hangs")
        #expect(step12)
        let step13 = gate.reserve()
        #expect(step13)
        let step14 = gate.enterAlone("solo")
        #expect(!step14)
        let step15 = gate.giveUp()
        #expect(step15 == ["solo"])
        #expect(gate.givenUp == 1)
        let step16 = gate.leave()
        #expect(step16 == [])
        let step17 = gate.endGivenUp()
        #expect(step17 == [])
        #expect(gate.givenUp == 0)
        let step18 = gate.reserve()
        #expect(step18)
        let step19 = gate.enterAlone("another")
        #expect(step19)
    }

    @Test func `a suspect that has waited long enough for those inside lets the others go on`() {
        var gate = SoloGateState<String>()
        let steps = [gate.enter("slow"), gate.reserve(), gate.enterAlone("solo"), gate.enter("next")]
        #expect(steps == [true, true, false, false])
        let (solo, line) = gate.withdraw()
        #expect(solo == "solo")
        #expect(line == ["next"])
        #expect(gate.running == 2)
        let again = gate.withdraw()
        #expect(again.solo == nil)
        let left = gate.leave()
        #expect(left == [])
    }

    @Test func `a suspect that has been alone for long lets the others in, and no other suspect runs until it has left`() {
        var gate = SoloGateState<String>()
        let steps = [gate.reserve(), gate.enterAlone("solo"), gate.enter("next")]
        #expect(steps == [true, true, false])
        let line = gate.letOthersIn()
        #expect(line == ["next"])
        #expect((gate.running, gate.lingering) == (2, 1))
        let again = gate.letOthersIn()
        #expect(again == [])
        let others = [gate.enter("another"), gate.reserve()]
        #expect(others == [true, false])
        let left = [gate.leave(), gate.leave(), gate.leave(isLingering: true)]
        #expect(left == [[], [], []])
        #expect((gate.running, gate.lingering) == (0, 0))
        let reserved = gate.reserve()
        #expect(reserved)
    }

    @Test func `a suspect that is given up after it has let the others in keeps the next one out until it ends`() {
        var gate = SoloGateState<String>()
        let steps = [gate.reserve(), gate.enterAlone("solo")]
        #expect(steps == [true, true])
        _ = gate.letOthersIn()
        _ = gate.giveUp(isLingering: true)
        #expect((gate.running, gate.lingering, gate.givenUp) == (0, 0, 1))
        let early = gate.reserve()
        #expect(!early)
        _ = gate.endGivenUp()
        let reserved = gate.reserve()
        #expect(reserved)
    }

    @Test func `a suspect waits twice as long each time that it waited in vain, up to a limit`() async {
        let gate = SoloGate(patience: .milliseconds(1), maximumPatience: .milliseconds(3), solitude: .seconds(1))
        var waits = [gate.patience]
        await gate.together { _ in
            for _ in 0..<3 {
                let isIn: Bool? = await gate.alone { _ in true }
                #expect(isIn == nil)
                waits.append(gate.patience)
            }
        }
        #expect(waits == [1, 2, 3, 3].map { .milliseconds($0) })
        let isAlone: Bool? = await gate.alone { $0.isAlone }
        #expect(isAlone == true)
        #expect(gate.patience == .milliseconds(1))
    }

    @Test func `nobody comes in any more when the process is about to end`() {
        var gate = SoloGateState<String>()
        let steps = [gate.enter("a"), gate.reserve(), gate.enterAlone("solo")]
        #expect(steps == [true, true, false])
        let inside = gate.close()
        #expect(inside == 1)
        let step1 = gate.enter("b")
        #expect(!step1)
        let step2 = gate.leave()
        #expect(step2 == [], "not even who waits to be alone")
        let (solo, line) = gate.withdraw()
        #expect(solo == "solo")
        #expect(line == [])
        let reserved = gate.reserve()
        #expect(!reserved)
        let left = gate.close()
        #expect(left == 0)
    }

    private func marker(
        _ ids: [Int64],
        isAlone: Bool,
        isNoted: Bool = true,
        isOverdue: Bool = true
    ) -> LostBatches.Marker {
        LostBatches.Marker(lane: 1, eventIDs: ids, isAlone: isAlone, isNoted: isNoted, isOverdue: isOverdue)
    }

    @Test func `those who were in company are suspects, but for whom another batch has by now`() {
        let verdict = LostBatches.verdict(on: marker([1, 2, 3], isAlone: false), held: [1, 3], waiting: [1, 2, 3])
        #expect(verdict == .suspects([1, 3]))
    }

    @Test(arguments: [
        (false, false, LostBatches.Verdict.noted), (true, false, .later), (true, true, .suspects([1, 2])),
        (false, true, .suspects([1, 2])),
    ])
    func `a process that lives has time to speak for those who were in company`(
        isNoted: Bool,
        isOverdue: Bool,
        verdict: LostBatches.Verdict
    ) {
        let marker = marker([1, 2], isAlone: false, isNoted: isNoted, isOverdue: isOverdue)
        #expect(LostBatches.verdict(on: marker, held: [1, 2], waiting: [1, 2]) == verdict)
    }

    @Test(arguments: [false, true])
    func `a batch that ended with its server is nobody's fault`(isAlone: Bool) {
        var marker = marker([1], isAlone: isAlone)
        marker.endedWithServer = true
        #expect(LostBatches.verdict(on: marker, held: [1], waiting: [1]) == .suspects([]))
    }

    @Test func `a single event that was not known to be suspect is only suspect`() {
        #expect(LostBatches.verdict(on: marker([1], isAlone: false), held: [1], waiting: [1]) == .suspects([1]))
    }

    @Test(arguments: [
        (false, false, LostBatches.Verdict.respite(1)), (false, true, .respite(1)), (true, false, .later),
        (true, true, .death(1, reason: "killed_worker")),
    ])
    func `a suspect that was alone is to blame once it is certain`(
        isNoted: Bool,
        isOverdue: Bool,
        verdict: LostBatches.Verdict
    ) {
        let marker = marker([1], isAlone: true, isNoted: isNoted, isOverdue: isOverdue)
        #expect(LostBatches.verdict(on: marker, held: [1], waiting: [1]) == verdict)
        #expect(LostBatches.verdict(on: marker, held: [], waiting: [1]) == .later, "somebody has it in his hands")
        #expect(LostBatches.verdict(on: marker, held: [], waiting: []) == .suspects([]), "it was settled by another")
    }
}
