import Randomness
import Testing

@testable import HTTPServing

/// Bodies of all sizes that arrive in pieces, some of them incomplete.
struct AdmissionPropertyTests {
    private static let memory = 8 << 20
    private static let usualBytes = 256 * 1024
    private static let largest = 2 << 20

    private struct Transfer {
        var reservation: MemoryReservation
        var arrived = 0
    }

    private let start = ContinuousClock.now

    private static func reservation(using generator: inout SeededGenerator) -> MemoryReservation {
        let (isLarge, isAnnounced) = (Bool.random(using: &generator), Bool.random(using: &generator))
        let most = isLarge ? largest : usualBytes
        let least = isLarge ? usualBytes + 1 : 1
        return MemoryReservation(
            maximumBytes: isAnnounced ? Int.random(in: least...most, using: &generator) : most,
            isLarge: isLarge,
            isAnnounced: isAnnounced
        )
    }

    @Test(arguments: 1...20)
    func `reservations match the bodies, stay within the limits, and leave half of the memory to usual bodies`(_: Int) {
        let seed = UInt64.random(in: 0 ... .max)
        var generator = SeededGenerator(seed: seed)
        var state = AdmissionState(memoryLimit: Self.memory, largestBody: Self.largest, hourlyLimit: .max, now: start)
        var transfers: [Transfer] = []
        for _ in 1...1000 {
            if transfers.isEmpty || Int.random(in: 0...2, using: &generator) == 0 {
                var transfer = Transfer(reservation: Self.reservation(using: &generator))
                if state.admit(&transfer.reservation, now: start) == nil { transfers.append(transfer) }
            } else {
                let index = Int.random(in: transfers.indices, using: &generator)
                var transfer = transfers.remove(at: index)
                let rest = transfer.reservation.maximumBytes - transfer.arrived
                transfer.arrived += rest == 0 ? 0 : min(rest, Int.random(in: 1...200_000, using: &generator))
                let refusal = state.grow(&transfer.reservation, toHold: transfer.arrived, now: start)
                if refusal != nil || rest == 0 || Int.random(in: 0...20, using: &generator) == 0 {
                    state.release(&transfer.reservation)
                } else {
                    #expect(transfer.reservation.bytes >= transfer.arrived, "seed \(seed)")
                    transfers.append(transfer)
                }
            }
            let (usual, large) = (transfers.filter { !$0.reservation.isLarge }, transfers.filter(\.reservation.isLarge))
            #expect(state.reservedByLarge == large.map(\.reservation.bytes).reduce(0, +), "seed \(seed)")
            #expect(state.reserved == transfers.map(\.reservation.bytes).reduce(0, +), "seed \(seed)")
            #expect(state.reserved <= Self.memory && state.reservedByLarge <= Self.memory / 2, "seed \(seed)")
            var another = MemoryReservation(maximumBytes: Self.usualBytes, isLarge: false, isAnnounced: true)
            if usual.map(\.reservation.bytes).reduce(0, +) + Self.usualBytes <= Self.memory / 2 {
                #expect(state.admit(&another, now: start) == nil, "seed \(seed)")
                state.release(&another)
            }
        }
        for var transfer in transfers { state.release(&transfer.reservation) }
        #expect(state.reserved == 0 && state.reservedByLarge == 0, "seed \(seed)")
    }

    @Test(arguments: 1...20)
    func `at least one of many concurrent large bodies is received`(_: Int) {
        let seed = UInt64.random(in: 0 ... .max)
        var generator = SeededGenerator(seed: seed)
        var state = AdmissionState(memoryLimit: Self.memory, largestBody: Self.largest, hourlyLimit: .max, now: start)
        var usual = MemoryReservation(maximumBytes: Self.memory / 2, isLarge: false, isAnnounced: true)
        #expect(state.admit(&usual, now: start) == nil)
        let count = Int.random(in: 1...200, using: &generator)
        var transfers = (1...count).map { _ in
            Transfer(reservation: MemoryReservation(maximumBytes: Self.largest, isLarge: true, isAnnounced: Bool.random(using: &generator)))
        }
        var received = 0
        while !transfers.isEmpty {
            let index = Int.random(in: transfers.indices, using: &generator)
            let piece = min(Self.largest - transfers[index].arrived, Int.random(in: 1...65_536, using: &generator))
            transfers[index].arrived += piece
            let refusal = state.grow(&transfers[index].reservation, toHold: transfers[index].arrived, now: start)
            guard refusal != nil || transfers[index].arrived == Self.largest else { continue }
            if refusal == nil { received += 1 }
            var ended = transfers.remove(at: index)
            state.release(&ended.reservation)
        }
        #expect(received >= 1, "seed \(seed)")
        #expect(state.reservedByLarge == 0, "seed \(seed)")
    }
}
