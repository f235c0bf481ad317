import Testing

@testable import Inbox

/// The decisions of the queue that need no database.
struct InboxQueueDecisionTests {
    @Test func `a batch is allowed a multiple of what was usual, within bounds`() {
        var patience = Patience(minimum: .seconds(1), maximum: .seconds(30))
        #expect(patience.bound(for: 100) == .seconds(30), "nothing is known yet")
        patience.took(.milliseconds(50), events: 100)
        #expect(patience.bound(for: 100) == .seconds(1))
        patience.took(.seconds(1), events: 100)
        #expect(patience.bound(for: 100) == .seconds(8))
        #expect(patience.bound(for: 1000) == .seconds(30))
        for _ in 0..<40 { patience.took(.milliseconds(50), events: 100) }
        #expect(patience.bound(for: 100) == .seconds(1))
    }

    @Test func `a bound that was too tight doubles until batches fit`() {
        var patience = Patience(minimum: .seconds(1), maximum: .seconds(30))
        patience.took(.milliseconds(1), events: 100)
        var bounds: [Duration] = []
        for _ in 0..<6 {
            bounds.append(patience.bound(for: 100))
            patience.exceeded(bounds[bounds.count - 1], events: 100)
        }
        #expect(bounds == [.seconds(1), .seconds(2), .seconds(4), .seconds(8), .seconds(16), .seconds(30)])
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

    @Test func `nobody comes in while a batch is being given up`() {
        var gate = SoloGateState<String>()
        let first = gate.enter("slow")
        let reserved = gate.reserve()
        let second = gate.enter("next")
        #expect(first && reserved && !second)
        let admitted = gate.cancelReservation()
        #expect(admitted == ["next"])
        #expect(gate.running == 2)
    }

    private func marker(_ ids: [Int64], isAlone: Bool, isOverdue: Bool? = nil, givenUp: String? = nil) -> LostBatches.Marker {
        LostBatches.Marker(lane: 1, eventIDs: ids, isAlone: isAlone, isOverdue: isOverdue, givenUp: givenUp)
    }

    @Test func `those who were in company are suspects, but for whom another batch has by now`() {
        let verdict = LostBatches.verdict(on: marker([1, 2, 3], isAlone: false), held: [1, 3], waiting: [1, 2, 3])
        #expect(verdict == .suspects([1, 3]))
    }

    @Test func `a single event that was not known to be suspect is only suspect`() {
        #expect(LostBatches.verdict(on: marker([1], isAlone: false, isOverdue: true), held: [1], waiting: [1]) == .suspects([1]))
    }

    @Test(arguments: [
        (nil, nil, LostBatches.Verdict.respite(1)), (false, nil, .later), (true, nil, .death(1, reason: "killed_worker")),
        (nil, "timed_out", .death(1, reason: "timed_out")),
    ])
    func `a suspect that was alone is to blame once it is certain`(isOverdue: Bool?, givenUp: String?, verdict: LostBatches.Verdict) {
        let marker = marker([1], isAlone: true, isOverdue: isOverdue, givenUp: givenUp)
        #expect(LostBatches.verdict(on: marker, held: [1], waiting: [1]) == verdict)
        #expect(LostBatches.verdict(on: marker, held: [], waiting: [1]) == .later, "somebody has it in his hands")
        #expect(LostBatches.verdict(on: marker, held: [], waiting: []) == .suspects([]), "it was settled by another")
    }
}
