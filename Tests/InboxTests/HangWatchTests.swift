import Synchronization
import Testing

@testable import Inbox

struct HangWatchTests {
    @Test(.timeLimit(.minutes(2)))
    func `what has not ended in time is dealt with, once; what has ended is not`() async {
        let watch = HangWatch()
        let (over, signal) = AsyncStream.makeStream(of: Int64.self)
        watch.expect(1, within: .zero) { signal.yield(1) }
        watch.expect(2, within: .seconds(2)) { signal.yield(2) }
        watch.settle(2)
        watch.expect(3, within: .seconds(2)) { signal.yield(-3) }
        watch.expect(3, within: .milliseconds(300)) { signal.yield(3) }
        watch.expect(4, within: .milliseconds(2500)) { signal.finish() }
        var lanes: [Int64] = []
        for await lane in over { lanes.append(lane) }
        #expect(lanes == [1, 3])
    }

    @Test(.timeLimit(.minutes(2)))
    func `what has to go on is dealt with when it takes no step for too long, unless somebody else is at work`() async {
        let watch = HangWatch()
        let (over, signal) = AsyncStream.makeStream(of: (Int64, Int).self)
        let looks = Atomic(0)
        watch.expectSteps(of: 1, within: .zero, { 7 }) { signal.yield((1, 0)) }
        watch.expectSteps(of: 2, within: .milliseconds(300), { min(looks.add(1, ordering: .relaxed).newValue, 20) }) {
            signal.yield((2, looks.load(ordering: .relaxed)))
        }
        watch.expectSteps(of: 3, within: .zero, { nil }) { signal.yield((3, 0)) }
        watch.expect(4, within: .seconds(5)) { signal.finish() }
        var found: [(lane: Int64, looks: Int)] = []
        for await (lane, looks) in over { found.append((lane, looks)) }
        #expect(found.map(\.lane) == [1, 2])
        // Twenty steps, then 300 ms and the rest of a round without one, or twice that where Swift's threads are busy.
        #expect((24...28).contains(found.last?.looks ?? 0))
    }

    @Test(.timeLimit(.minutes(2)))
    func `who sleeps wakes when the time is over, or at once with an error when he is cancelled`() async throws {
        let watch = HangWatch()
        try await watch.sleep(for: .milliseconds(100))
        // Before, while and after the watch hears of him.
        for round in 0..<300 {
            await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await watch.sleep(for: .seconds(3600)) }
                for _ in 0..<round % 3 { await Task.yield() }
                group.cancelAll()
                await #expect(throws: CancellationError.self) { try await group.next() }
            }
        }
    }
}
