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
}
