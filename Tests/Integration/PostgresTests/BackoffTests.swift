import Postgres
import Randomness
import ServiceSupport
import Testing

@Suite struct BackoffTests {
    @Test func `pauses lie between zero and a bound that doubles up to the cap`() {
        var generator = SeededGenerator(seed: 1)
        var highest = [Duration](repeating: .zero, count: 6)
        for _ in 0..<2000 {
            var backoff = Backoff(base: .milliseconds(100), cap: .seconds(1))
            for step in 0..<6 { highest[step] = max(highest[step], backoff.next(using: &generator)) }
        }
        for (step, bound) in [100, 200, 400, 800, 1000, 1000].enumerated() {
            #expect(highest[step] <= .milliseconds(bound))
            #expect(highest[step] > .milliseconds(bound) * 0.95)
        }
    }

    @Test func `reset starts over with the first bound`() {
        var generator = SeededGenerator(seed: 2)
        var backoff = Backoff(base: .milliseconds(1), cap: .seconds(100))
        for _ in 0..<20 { _ = backoff.next(using: &generator) }
        backoff.reset()
        #expect(backoff.next(using: &generator) <= .milliseconds(1))
    }

    @Test func `the random share of a delay can be a part of it`() {
        var generator = SeededGenerator(seed: 3)
        let backoff = Backoff(base: .seconds(1), cap: .seconds(5), jitter: 0.25)
        for (failures, bound) in [(1, 1), (2, 2), (3, 4), (4, 5), (1_000_000, 5)] {
            let delays = (0..<200).map { _ in backoff.delay(afterFailures: failures, using: &generator) }
            #expect(delays.allSatisfy { (.seconds(bound) * 3 / 4 ... .seconds(bound)).contains($0) })
            #expect(Set(delays).count > 100)
        }
    }
}
