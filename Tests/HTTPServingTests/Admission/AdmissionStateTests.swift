import Randomness
import Testing

@testable import HTTPServing

struct AdmissionStateTests {
    let start = ContinuousClock.now

    @Test func `stored bytes count for an hour`() {
        var state = AdmissionState(memoryLimit: 1000, hourlyLimit: 100, now: start)
        state.recordAccepted(bytes: 60, now: start)
        state.recordAccepted(bytes: 30, now: start + .seconds(1800))
        #expect(state.admit(bytes: 10, now: start + .seconds(1801)) == nil)
        #expect(state.admit(bytes: 11, now: start + .seconds(1801)) == .hourlyLimit)
        #expect(state.admit(bytes: 71, now: start + .seconds(3661)) == .hourlyLimit)
        #expect(state.admit(bytes: 70, now: start + .seconds(3661)) == nil)
        #expect(state.admit(bytes: 100, now: start + .seconds(100_000)) == nil)
    }

    @Test func `requests without a body are always admitted until the end`() {
        var state = AdmissionState(memoryLimit: 1, hourlyLimit: 1, now: start)
        #expect(state.admit(bytes: 1, now: start) == nil)
        state.recordAccepted(bytes: 1, now: start)
        #expect(state.admit(bytes: 0, now: start) == nil)
        state.close()
        #expect(state.admit(bytes: 0, now: start) == .shuttingDown)
    }

    @Test func `a rolling total is the sum over the window, whatever the order of steps`() {
        let seed = UInt64.random(in: 0 ... .max)
        var generator = SeededGenerator(seed: seed)
        var total = RollingTotal(overMinutes: 1, start: start)
        var added: [(at: Int, amount: Int)] = []
        var now = 0
        for _ in 1...2000 {
            now += Int.random(in: 0...20, using: &generator)
            let amount = Int.random(in: 0...9, using: &generator)
            total.add(amount, at: start + .seconds(now))
            added.append((now, amount))
            let expected = added.filter { $0.at > now - 60 }.reduce(0) { $0 + $1.amount }
            #expect(total.total(at: start + .seconds(now)) == expected, "seed \(seed)")
        }
    }
}
