import Synchronization
import Testing

@testable import ServiceSupport

struct TickerTests {
    @Test func `an action is called until it returns false or is removed`() async throws {
        let ticker = Ticker()
        let (calls, call) = AsyncStream.makeStream(of: Int.self)
        let count = Atomic(0)
        _ = try ticker.add {
            let number = count.add(1, ordering: .relaxed).newValue
            call.yield(number)
            return number < 3
        }
        for await number in calls where number == 3 { break }
        try await eventually("the end of the action") { ticker.count == 0 }
        #expect(count.load(ordering: .relaxed) == 3)
        let other = try ticker.add { true }
        #expect(ticker.count == 1)
        ticker.remove(other)
        #expect(ticker.count == 0)
    }

    @Test func `a sleep ends at its time`() async throws {
        let ticker = Ticker()
        let start = ContinuousClock.now
        try await ticker.sleep(for: .milliseconds(60))
        #expect(start.duration(to: .now) >= .milliseconds(60))
        #expect(ticker.count == 0)
    }

    @Test func `a sleep whose task is cancelled ends at once and leaves nothing behind`() async {
        let ticker = Ticker()
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<100 {
                group.addTask { await #expect(throws: CancellationError.self) { try await ticker.sleep(for: .seconds(3600)) } }
            }
            while ticker.count < 50 { await Task.yield() }
            group.cancelAll()
        }
        #expect(ticker.count == 0)
    }
}
