import Randomness
import Testing

@testable import Worker

struct RotaTests {
    /// Three loops that have found nothing: the first polls, the others sleep.
    private func atRest() -> RotaState<String> {
        var rota = RotaState<String>()
        let turns = (0..<3).map { rota.foundNothing($0) }
        #expect(turns == [.poll, .sleep, .sleep])
        let asleep = [rota.sleep(1, "one"), rota.sleep(2, "two")]
        #expect(asleep == [true, true])
        return rota
    }

    @Test func `one loop polls while the others sleep`() {
        var rota = atRest()
        let again = rota.foundNothing(0)
        #expect(again == .poll)
        #expect(rota.onDuty == 0)
    }

    @Test func `while batches are small one loop takes them, and another stands by`() {
        var rota = atRest()
        for _ in 0..<5 {
            let batches = rota.batches
            _ = rota.took(0, isFull: false)
            #expect(rota.standsBy == 1)
            #expect(rota.onDuty == nil)
            let helper = rota.stoodBy(1, since: batches)
            #expect(helper == .standBy, "the first gets along")
            let turn = rota.settled(0, isFull: false)
            #expect(turn == .look)
        }
        let turn = rota.foundNothing(0)
        #expect(turn == .poll)
        let helper = rota.stoodBy(1, since: rota.batches)
        #expect(helper == .sleep, "somebody polls")
    }

    @Test func `only the one that is to stand by is called for a small batch`() {
        var rota = atRest()
        let called = rota.took(0, isFull: false)
        #expect(called == ["one"])
        let calledAgain = rota.took(0, isFull: false)
        #expect(calledAgain == [])
    }

    @Test func `who stands by looks when the other's batch takes long, and the next one stands by`() {
        var rota = atRest()
        _ = rota.took(0, isFull: false)
        let helper = rota.stoodBy(1, since: rota.batches)
        #expect(helper == .look)
        let called = rota.took(1, isFull: false)
        #expect(called == ["two"])
        #expect(rota.standsBy == 2)
        let turn = rota.settled(1, isFull: false)
        #expect(turn == .sleep, "one is at work, and one stands by")
        let other = rota.settled(0, isFull: false)
        #expect(other == .look)
    }

    @Test func `a third loop is not needed for small batches`() {
        var rota = RotaState<String>()
        for loop in 0..<3 { _ = rota.took(loop, isFull: loop == 2) }
        let turns = (0..<3).map { rota.settled($0, isFull: false) }
        #expect(turns == [.standBy, .sleep, .look])
    }

    @Test func `more than one can do has all look`() {
        var rota = atRest()
        _ = rota.took(0, isFull: false)
        let batches = rota.batches
        let called = rota.took(0, isFull: true)
        #expect(called == ["two"])
        let helper = rota.stoodBy(1, since: batches)
        #expect(helper == .look)
        let turn = rota.settled(0, isFull: true)
        #expect(turn == .look)
    }

    @Test func `a lost batch counts as work no more`() {
        var rota = RotaState<String>()
        _ = rota.took(0, isFull: false)
        _ = rota.took(1, isFull: false)
        rota.failed(0)
        let turn = rota.settled(1, isFull: false)
        #expect(turn == .look)
    }

    @Test func `a call that comes before the sleep is not lost`() {
        var rota = RotaState<String>()
        for loop in 0..<2 { _ = rota.foundNothing(loop) }
        let called = rota.took(0, isFull: true)
        #expect(called == [])
        let isAsleep = rota.sleep(1, "one")
        #expect(!isAsleep)
    }

    @Test func `somebody always looks or is about to, whatever happens`() {
        let seed = UInt64.random(in: .min ... .max)
        var random = SeededGenerator(seed: seed)
        var rota = RotaState<Int>()
        var turns = [RotaTurn](repeating: .look, count: 4)
        var seen = [Int](repeating: 0, count: 4)
        var busy: Set<Int> = []
        for step in 0..<20_000 {
            let loop = Int.random(in: 0..<4, using: &random)
            let isFull = Int.random(in: 0..<4, using: &random) == 0
            var called: [Int] = []
            if busy.contains(loop) {
                busy.remove(loop)
                if Int.random(in: 0..<10, using: &random) == 0 {
                    rota.failed(loop)
                    turns[loop] = .look
                } else {
                    turns[loop] = rota.settled(loop, isFull: isFull)
                }
            } else {
                switch turns[loop] {
                case .look, .poll:
                    if Bool.random(using: &random) {
                        turns[loop] = rota.foundNothing(loop)
                    } else {
                        called = rota.took(loop, isFull: isFull)
                        busy.insert(loop)
                    }
                case .standBy:
                    turns[loop] = rota.stoodBy(loop, since: seen[loop])
                case .sleep:
                    // Awake by itself after its time.
                    _ = rota.withdraw(loop)
                    called = [loop]
                }
            }
            for sleeper in called { turns[sleeper] = rota.standsBy == sleeper ? .standBy : .look }
            for sleeper in turns.indices where turns[sleeper] == .sleep && !busy.contains(sleeper) {
                if !rota.sleep(sleeper, sleeper) { turns[sleeper] = rota.standsBy == sleeper ? .standBy : .look }
            }
            seen = turns.indices.map { turns[$0] == .standBy && Bool.random(using: &random) ? rota.batches : seen[$0] }
            #expect(!busy.isEmpty || turns.contains { $0 != .sleep }, "step \(step), seed \(seed)")
            #expect(turns.indices.filter { turns[$0] == .standBy && !busy.contains($0) }.count <= 1, "step \(step), seed \(seed)")
        }
    }

    @Test func `who is called while he is asleep wakes before his time, and a cancelled one too`() async {
        let rota = Rota()
        #expect(rota.foundNothing(0) == .poll)
        #expect(rota.foundNothing(1) == .sleep)
        await withTaskGroup { group in
            group.addTask { await rota.sleep(1, atMost: .seconds(3600)) }
            rota.took(0, isFull: true)
            #expect(await group.next() == .look)
            #expect(rota.foundNothing(0) == .poll)
            #expect(rota.foundNothing(1) == .sleep)
            group.addTask { await rota.sleep(1, atMost: .seconds(3600)) }
            rota.took(0, isFull: false)
            #expect(await group.next() == .standBy)
            #expect(rota.foundNothing(0) == .poll)
            #expect(await rota.standBy(1, for: .milliseconds(1)) == .sleep)
            group.addTask { await rota.sleep(1, atMost: .seconds(3600)) }
            group.cancelAll()
        }
    }
}
