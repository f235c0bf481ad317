import Postgres
import Testing

@testable import InboxQueue

struct InboxQueueLowWaterMarkTests {
    private func position(_ seconds: Int64, _ id: Int64 = .min) -> QueuePosition {
        QueuePosition(runAt: PostgresTimestamp(microsecondsSince2000: seconds * 1_000_000), eventID: id)
    }

    private func probe(
        from: QueuePosition = .start,
        first: QueuePosition?,
        at seconds: Int64,
        xmin: Int64,
        xid: Int64?
    ) -> LowWaterMark.Probe {
        LowWaterMark.Probe(from: from, serverStart: position(0).runAt, first: first, at: position(seconds).runAt, xmin: xmin, xid: xid)
    }

    @Test func `one look moves nothing; a second one does once all that the first could have missed has ended`() {
        var mark = LowWaterMark()
        mark.observe(probe(first: position(10, 7), at: 100, xmin: 50, xid: 60))
        #expect(mark.position == .start)
        mark.observe(probe(first: position(20, 9), at: 101, xmin: 59, xid: 70))
        #expect(mark.position == .start)
        mark.observe(probe(first: position(20, 9), at: 102, xmin: 60, xid: 71))
        #expect(mark.position == position(10, 7))
    }

    @Test func `what a rollback brought back holds the mark`() {
        var mark = LowWaterMark()
        mark.observe(probe(first: position(20), at: 100, xmin: 50, xid: 60))
        mark.observe(probe(first: position(5), at: 101, xmin: 60, xid: 61))
        #expect(mark.position == position(5))
    }

    @Test func `an empty queue leaves the mark a second behind the clock`() {
        var mark = LowWaterMark()
        mark.observe(probe(first: nil, at: 100, xmin: 50, xid: 50))
        mark.observe(probe(first: nil, at: 200, xmin: 50, xid: 50))
        #expect(mark.position == position(99))
    }

    @Test func `without a mark claims begin with what the latest look saw first, but not later than a second ago`() {
        var mark = LowWaterMark()
        #expect(mark.provisionalPosition == .start)
        for (first, expected) in [
            (position(10, 7), position(10, 7)), (position(5), position(5)), (nil, position(99)), (position(200), position(99)),
        ] {
            mark.observe(probe(first: first, at: 100, xmin: 50, xid: nil))
            #expect(mark.provisionalPosition == expected)
        }
        #expect(mark.position == .start)
        // With a mark they begin there, whatever looks from behind it have seen.
        for _ in 0..<2 { mark.observe(probe(first: position(10), at: 101, xmin: 60, xid: 60)) }
        mark.observe(probe(from: position(10), first: position(30), at: 102, xmin: 60, xid: nil))
        #expect((mark.position, mark.provisionalPosition) == (position(10), position(10)))
        mark.forget()
        #expect(mark.provisionalPosition == .start)
    }

    @Test func `what a sweep finds lowers the mark, and older looks do not raise it again`() {
        var mark = LowWaterMark()
        mark.observe(probe(first: position(50), at: 100, xmin: 10, xid: 10))
        mark.observe(probe(first: position(50), at: 100, xmin: 10, xid: 10))
        #expect(mark.position == position(50))
        mark.observe(probe(first: position(30), at: 101, xmin: 11, xid: 11))
        #expect(mark.position == position(30))
        for _ in 0..<2 { mark.observe(probe(from: position(50), first: position(60), at: 102, xmin: 12, xid: 12)) }
        #expect(mark.position == position(30))
    }

    @Test func `looks are taken now and then, and from the very beginning every ten seconds`() {
        var mark = LowWaterMark()
        let start = ContinuousClock.now
        let step1 = mark.look(at: start)?.from
        #expect(step1 == .start)
        let step2 = mark.look(at: start)
        #expect(step2 == nil)
        for _ in 0..<2 { mark.observe(probe(first: position(50), at: 100, xmin: 10, xid: 10)) }
        let step3 = mark.look(at: start + .seconds(1))?.from
        #expect(step3 == position(50))
        let step4 = mark.look(at: start + .seconds(11))?.from
        #expect(step4 == .start)
        let step5 = mark.look(at: start + .seconds(12))?.from
        #expect(step5 == position(50))
        // One that took ten seconds is not repeated for two thousand.
        var long = probe(first: position(50), at: 161, xmin: 10, xid: 10)
        long.duration = .seconds(10)
        mark.observe(long, at: start + .seconds(71))
        let resting = mark.look(at: start + .seconds(2070))?.from
        #expect(resting == position(50))
        let rested = mark.look(at: start + .seconds(2071))?.from
        #expect(rested == .start)
        mark.forget()
        #expect(mark.position == .start)
    }

    @Test(arguments: [false, true])
    func `the longer a look takes the less often there is one, but at least once a second`(hasMark: Bool) {
        var mark = LowWaterMark()
        let start = ContinuousClock.now
        if hasMark { for _ in 0..<2 { mark.observe(probe(first: position(50), at: 100, xmin: 10, xid: 10)) } }
        // Without one a transaction that was open at the first look never ends.
        let (from, xmin) = hasMark ? (position(1), 10) : (.start, Int64(5))
        _ = mark.look(at: start)
        for (took, pause) in [(0, 20), (1, 20), (50, 500), (3000, 1000)] {
            let begin = start + .seconds(took + 1)
            mark.observe(probe(from: from, first: position(50), at: 100, xmin: xmin, xid: 10), after: .milliseconds(took))
            let steps = [begin, begin + .milliseconds(pause - 1), begin + .milliseconds(pause)].map { mark.look(at: $0) != nil }
            #expect(steps == [true, false, true], "after a look of \(took) ms")
        }
    }

    @Test(arguments: [(1, 20), (50, 500), (3000, 1000)])
    func `without a mark there is no look for a while after the end of one that took long`(took: Int, pause: Int) {
        var mark = LowWaterMark()
        let start = ContinuousClock.now
        _ = mark.look(at: start)
        let end = start + .milliseconds(took)
        mark.observe(probe(first: position(50), at: 100, xmin: 5, xid: 10), after: .milliseconds(took), at: end)
        let next = took < 20 ? start + .milliseconds(pause) : end + .milliseconds(pause)
        let steps = [next - .milliseconds(1), next].map { mark.look(at: $0) != nil }
        #expect(steps == [false, true])
    }

    @Test func `an idle queue's looks have no number`() {
        var mark = LowWaterMark()
        let start = ContinuousClock.now
        let first = mark.look(at: start)
        #expect(first?.isNumbered == true)
        mark.observe(probe(first: nil, at: 100, xmin: 50, xid: 60))
        mark.observe(probe(first: nil, at: 200, xmin: 60, xid: nil))
        #expect(mark.position == position(99))
        let idle = mark.look(at: start + .seconds(1))
        #expect(idle?.isNumbered == false)
        mark.observe(probe(first: nil, at: 300, xmin: 70, xid: nil))
        mark.observe(probe(first: nil, at: 400, xmin: 80, xid: nil))
        #expect(mark.position == position(99))
        mark.claimed()
        let busy = mark.look(at: start + .seconds(2))
        #expect(busy?.isNumbered == true)
        mark.observe(probe(first: nil, at: 500, xmin: 80, xid: 90))
        var slow = probe(first: nil, at: 600, xmin: 90, xid: nil)
        slow.duration = .milliseconds(2)
        mark.observe(slow)
        #expect(mark.position == position(499))
        let costly = mark.look(at: start + .seconds(3))
        #expect(costly?.isNumbered == true)
    }

    /// Transactions that insert, hold, delete, commit and roll back in any order, and looks whose results come late and in any order.
    @Test(arguments: 0..<30)
    func `no event that waits or will wait is ever behind the mark`(seed: UInt64) {
        var queue = ImaginaryQueue(seed: seed)
        var mark = LowWaterMark()
        var late: [LowWaterMark.Probe] = []
        var stranded: [Int] = []
        for step in 0..<600 {
            queue.step()
            if step % 4 == 0 { late.append(queue.probe(from: Bool.random(using: &queue.random) ? mark.position : .start)) }
            while let index = late.indices.randomElement(using: &queue.random), Int.random(in: 0..<3, using: &queue.random) > 0 {
                mark.observe(late.remove(at: index))
            }
            if let least = queue.leastAlive, least < mark.position { stranded.append(step) }
        }
        #expect(stranded == [], "seed \(seed)")
        #expect(mark.position > .start, "seed \(seed): a mark that never moves proves nothing")
    }
}
