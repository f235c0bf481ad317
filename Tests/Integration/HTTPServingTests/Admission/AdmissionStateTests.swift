import Randomness
import Testing

@testable import HTTPServing

struct AdmissionStateTests {
    let start = ContinuousClock.now

    private func usual(_ bytes: Int) -> MemoryReservation { MemoryReservation(maximumBytes: bytes, isLarge: false, isAnnounced: true) }

    private func large(_ bytes: Int = 4 << 20, isAnnounced: Bool = true) -> MemoryReservation {
        MemoryReservation(maximumBytes: bytes, isLarge: true, isAnnounced: isAnnounced)
    }

    @Test func `stored bytes count toward the limit for an hour`() {
        var state = AdmissionState(memoryLimit: 1000, largestBody: 0, hourlyLimit: 100, now: start)
        func admit(_ bytes: Int, after seconds: Int) -> Problem? {
            var reservation = usual(bytes)
            return state.admit(&reservation, now: start + .seconds(seconds))
        }
        state.recordAccepted(bytes: 60, now: start)
        state.recordAccepted(bytes: 30, now: start + .seconds(1800))
        #expect(admit(10, after: 1801) == nil)
        #expect(admit(11, after: 1801) == .hourlyLimit)
        #expect(admit(71, after: 3661) == .hourlyLimit)
        #expect(admit(70, after: 3661) == nil)
        #expect(admit(100, after: 100_000) == nil)
    }

    @Test func `the hourly limit applies to a large body at its head and while it arrives`() {
        var state = AdmissionState(memoryLimit: 8 << 20, largestBody: 4 << 20, hourlyLimit: 4 << 20, now: start)
        state.recordAccepted(bytes: 1, now: start)
        var announced = large()
        #expect(state.admit(&announced, now: start) == .hourlyLimit)
        var chunked = large(isAnnounced: false)
        #expect(state.admit(&chunked, now: start) == nil)
        #expect(state.grow(&chunked, toHold: 4 << 20 - 1, now: start) == nil)
        state.release(&chunked)
        state.recordAccepted(bytes: 4 << 20, now: start)
        var next = large(isAnnounced: false)
        #expect(state.admit(&next, now: start) == nil)
        #expect(state.grow(&next, toHold: 1, now: start) == .hourlyLimit)
    }

    @Test func `requests without a body are admitted until shutdown`() {
        var state = AdmissionState(memoryLimit: 1, largestBody: 0, hourlyLimit: 1, now: start)
        var (one, none) = (usual(1), MemoryReservation.none)
        #expect(state.admit(&one, now: start) == nil)
        state.recordAccepted(bytes: 2, now: start)
        #expect(state.admit(&none, now: start) == nil)
        state.close()
        #expect(state.admit(&none, now: start) == .shuttingDown)
    }

    @Test func `a usual body of known length is reserved at once, any other body as it arrives`() {
        #expect(usual(200_000).bytesAtHead == 200_000)
        #expect(large().bytesAtHead == 0)
        #expect(MemoryReservation(maximumBytes: 262_144, isLarge: false, isAnnounced: false).bytesAtHead == 0)
        let steps = [0, 1, 65_536, 65_537, 131_072, 131_073, 2 << 20, 2 << 20 + 1, 3 << 20]
        #expect(
            steps.map(large(3 << 20).bytes(for:)) == [0, 65_536, 65_536, 131_072, 131_072, 262_144, 2 << 20, 3 << 20, 3 << 20]
        )
        #expect(large(70_000).bytes(for: 66_000) == 70_000)
    }

    @Test func `a reservation is released once`() {
        var state = AdmissionState(memoryLimit: 1 << 20, largestBody: 1 << 20, hourlyLimit: .max, now: start)
        var (first, second) = (usual(1000), large(1 << 20))
        #expect(state.admit(&first, now: start) == nil && state.admit(&second, now: start) == nil)
        #expect(state.grow(&second, toHold: 1, now: start) == nil)
        #expect(state.reserved == 66_536 && state.reservedByLarge == 65_536)
        state.release(&second)
        state.release(&second)
        #expect(state.reserved == 1000 && state.reservedByLarge == 0)
        #expect(state.grow(&first, toHold: 1000, now: start) == nil && state.reserved == 1000)
    }

    @Test func `one of the largest bodies is received even if it needs more than half of the memory`() {
        var state = AdmissionState(memoryLimit: 5 << 20, largestBody: 4 << 20, hourlyLimit: .max, now: start)
        var (first, second) = (large(), large())
        #expect(state.grow(&first, toHold: 4 << 20, now: start) == nil)
        #expect(state.grow(&second, toHold: 1, now: start) == .tooManyBytes)
        var another = usual(1 << 20)
        #expect(state.admit(&another, now: start) == nil)
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
