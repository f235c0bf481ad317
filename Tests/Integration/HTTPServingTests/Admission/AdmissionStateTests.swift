import Randomness
import Testing

@testable import HTTPServing

struct AdmissionStateTests {
    let start = ContinuousClock.now

    private func body(_ bytes: Int = 4 << 20, isAnnounced: Bool = true) -> BodyReservation {
        BodyReservation(maximumBytes: bytes, announcedBytes: isAnnounced ? bytes : 0, awaitsContinue: false)
    }

    private func state(_ memoryLimit: Int, largestBody: Int = 0, connections: Int = 1, hourlyLimit: Int = .max) -> AdmissionState {
        AdmissionState(
            memoryLimit: memoryLimit,
            largestBody: largestBody,
            connections: connections,
            hourlyLimit: hourlyLimit,
            now: start
        )
    }

    @Test func `stored bytes count toward the limit for an hour`() {
        var state = state(1000, hourlyLimit: 100)
        func admit(_ bytes: Int, after seconds: Int) -> Problem? {
            state.admit(body(bytes), now: start + .seconds(seconds))
        }
        state.recordAccepted(bytes: 60, now: start)
        state.recordAccepted(bytes: 30, now: start + .seconds(1800))
        #expect(admit(10, after: 1801) == nil)
        #expect(admit(11, after: 1801) == .hourlyLimit)
        #expect(admit(71, after: 3661) == .hourlyLimit)
        #expect(admit(70, after: 3661) == nil)
        #expect(admit(100, after: 100_000) == nil)
    }

    @Test func `the hourly limit applies to a body at its head and while it arrives`() {
        var state = state(8 << 20, largestBody: 4 << 20, hourlyLimit: 4 << 20)
        state.recordAccepted(bytes: 1, now: start)
        #expect(state.admit(body(), now: start) == .hourlyLimit)
        var chunked = body(isAnnounced: false)
        #expect(state.admit(chunked, now: start) == nil)
        #expect(state.grow(&chunked, toHold: 4 << 20 - 1, now: start) == nil)
        state.release(&chunked)
        state.recordAccepted(bytes: 4 << 20, now: start)
        var next = body(isAnnounced: false)
        #expect(state.admit(next, now: start) == nil)
        #expect(state.grow(&next, toHold: 1, now: start) == .hourlyLimit)
    }

    @Test func `requests without a body are admitted until shutdown`() {
        var state = state(1, hourlyLimit: 1)
        #expect(state.admit(body(1), now: start) == nil)
        state.recordAccepted(bytes: 2, now: start)
        #expect(state.admit(.none, now: start) == nil)
    }

    @Test func `a head reserves nothing, and a body is reserved in steps`() {
        #expect(body(200_000).bytes == 0)
        let steps = [0, 1, 65_536, 65_537, 131_072, 131_073, 2 << 20, 2 << 20 + 1, 3 << 20]
        #expect(
            steps.map { body(3 << 20).bytes(toHold: $0) } == [0, 65_536, 65_536, 131_072, 131_072, 262_144, 2 << 20, 3 << 20, 3 << 20]
        )
        #expect(body(70_000).bytes(toHold: 66_000) == 70_000)
        #expect(body(200).bytes(toHold: 1) == 200)
    }

    @Test func `a reservation is released once`() {
        var state = state(1 << 20, largestBody: 1 << 20)
        var (first, second) = (body(1000), body(1 << 20))
        #expect(state.grow(&first, toHold: 1, now: start) == nil)
        #expect(state.grow(&second, toHold: 1, now: start) == nil)
        #expect(state.reserved == 66_536 && state.reservedAboveShares == 66_536)
        state.release(&second)
        state.release(&second)
        #expect(state.reserved == 1000 && state.reservedAboveShares == 1000)
        #expect(state.grow(&first, toHold: 1000, now: start) == nil && state.reserved == 1000)
    }

    @Test func `half of the memory is divided among the connections, but the largest body has room in the rest`() {
        #expect(state(64 << 20, largestBody: 4 << 20, connections: 512).share == 64 * 1024)
        #expect(state(5 << 20, largestBody: 4 << 20, connections: 16).share == 64 * 1024)
        #expect(state(4 << 20, largestBody: 4 << 20, connections: 16).share == 0)
    }

    @Test func `one of the largest bodies is received even if it needs more than half of the memory`() {
        var state = state(5 << 20, largestBody: 4 << 20, connections: 16)
        var (first, second, usual) = (body(), body(), body(1 << 16))
        #expect(state.grow(&first, toHold: 4 << 20, now: start) == nil)
        #expect(state.grow(&second, toHold: 1 << 18, now: start) == .tooManyBytes)
        #expect(state.grow(&usual, toHold: 1 << 16, now: start) == nil)
    }

    @Test func `a rolling total is the sum over its window`() {
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
