import Postgres
import Testing

@testable import Inbox

struct InboxQueueLowWaterMarkTests {
    private func position(_ seconds: Int64, _ id: Int64 = .min) -> QueuePosition {
        QueuePosition(runAt: PostgresTimestamp(microsecondsSince2000: seconds * 1_000_000), eventID: id)
    }

    private func probe(
        from: QueuePosition = .start,
        first: QueuePosition?,
        at seconds: Int64,
        xmin: Int64,
        xmax: Int64
    ) -> LowWaterMark.Probe {
        LowWaterMark.Probe(from: from, first: first, at: position(seconds).runAt, xmin: xmin, xmax: xmax)
    }

    @Test func `one look moves nothing; a second one does once all that the first could have missed has ended`() {
        var mark = LowWaterMark()
        mark.observe(probe(first: position(10, 7), at: 100, xmin: 50, xmax: 60))
        #expect(mark.position == .start)
        mark.observe(probe(first: position(20, 9), at: 101, xmin: 59, xmax: 70))
        #expect(mark.position == .start)
        mark.observe(probe(first: position(20, 9), at: 102, xmin: 60, xmax: 71))
        #expect(mark.position == position(10, 7))
    }

    @Test func `what a rollback brought back holds the mark`() {
        var mark = LowWaterMark()
        mark.observe(probe(first: position(20), at: 100, xmin: 50, xmax: 60))
        mark.observe(probe(first: position(5), at: 101, xmin: 60, xmax: 61))
        #expect(mark.position == position(5))
    }

    @Test func `an empty queue leaves the mark a second behind the clock`() {
        var mark = LowWaterMark()
        mark.observe(probe(first: nil, at: 100, xmin: 50, xmax: 50))
        mark.observe(probe(first: nil, at: 200, xmin: 50, xmax: 50))
        #expect(mark.position == position(99))
    }

    @Test func `what a sweep finds lowers the mark, and older looks do not raise it again`() {
        var mark = LowWaterMark()
        mark.observe(probe(first: position(50), at: 100, xmin: 10, xmax: 10))
        mark.observe(probe(first: position(50), at: 100, xmin: 10, xmax: 10))
        #expect(mark.position == position(50))
        mark.observe(probe(first: position(30), at: 101, xmin: 11, xmax: 11))
        #expect(mark.position == position(30))
        for _ in 0..<2 { mark.observe(probe(from: position(50), first: position(60), at: 102, xmin: 12, xmax: 12)) }
        #expect(mark.position == position(30))
    }

    @Test func `looks are taken now and then, and from the very beginning once a minute`() {
        var mark = LowWaterMark()
        let start = ContinuousClock.now
        let step1 = mark.probe(at: start)
        #expect(step1 == .start)
        let step2 = mark.probe(at: start)
        #expect(step2 == nil)
        for _ in 0..<2 { mark.observe(probe(first: position(50), at: 100, xmin: 10, xmax: 10)) }
        let step3 = mark.probe(at: start + .seconds(1))
        #expect(step3 == position(50))
        let step4 = mark.probe(at: start + .seconds(61))
        #expect(step4 == .start)
        let step5 = mark.probe(at: start + .seconds(62))
        #expect(step5 == position(50))
        // One that took ten seconds is not repeated for two thousand.
        mark.observe(probe(first: position(50), at: 161, xmin: 10, xmax: 10), after: .seconds(10), at: start + .seconds(71))
        let resting = mark.probe(at: start + .seconds(2070))
        #expect(resting == position(50))
        let rested = mark.probe(at: start + .seconds(2071))
        #expect(rested == .start)
        mark.forget()
        #expect(mark.position == .start)
    }

    @Test(arguments: [false, true])
    func `the longer a look takes the less often there is one, but at least once a second`(hasMark: Bool) {
        var mark = LowWaterMark()
        let start = ContinuousClock.now
        if hasMark { for _ in 0..<2 { mark.observe(probe(first: position(50), at: 100, xmin: 10, xmax: 10)) } }
        // Without one a transaction that was open at the first look never ends.
        let (from, xmin) = hasMark ? (position(1), 10) : (.start, Int64(5))
        _ = mark.probe(at: start)
        for (took, pause) in [(0, 20), (1, 20), (50, 500), (3000, 1000)] {
            let begin = start + .seconds(took + 1)
            mark.observe(probe(from: from, first: position(50), at: 100, xmin: xmin, xmax: 10), after: .milliseconds(took))
            let steps = [begin, begin + .milliseconds(pause - 1), begin + .milliseconds(pause)].map { mark.probe(at: $0) != nil }
            #expect(steps == [true, false, true], "after a look of \(took) ms")
        }
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
