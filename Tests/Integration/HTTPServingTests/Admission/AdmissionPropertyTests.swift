import Randomness
import Testing

@testable import HTTPServing

/// Bodies of all sizes that arrive in pieces, some of them incomplete.
struct AdmissionPropertyTests {
    private static let memory = 8 << 20
    private static let largest = 2 << 20
    private static let connections = 64
    /// The rest is shared: half of the memory, which has room for the largest body.
    private static let common = memory / 2

    private struct Transfer {
        var reservation: BodyReservation
        var arrived = 0
    }

    private let start = ContinuousClock.now

    private var state: AdmissionState {
        AdmissionState(
            memoryLimit: Self.memory,
            largestBody: Self.largest,
            connections: Self.connections,
            hourlyLimit: .max,
            now: start
        )
    }

    private static func reservation(_ bytes: ClosedRange<Int>, using generator: inout SeededGenerator) -> BodyReservation {
        let isAnnounced = Bool.random(using: &generator)
        let maximum = isAnnounced ? Int.random(in: bytes, using: &generator) : bytes.upperBound
        return BodyReservation(maximumBytes: maximum, announcedBytes: isAnnounced ? maximum : 0, awaitsContinue: false)
    }

    @Test(arguments: 1...20)
    func `reservations match the bodies, stay within the limits, and leave each connection its share`(_: Int) {
        let seed = UInt64.random(in: 0 ... .max)
        var generator = SeededGenerator(seed: seed)
        var state = state
        var transfers: [Transfer] = []
        for _ in 1...1000 {
            if transfers.isEmpty || transfers.count < Self.connections - 1 && Int.random(in: 0...2, using: &generator) == 0 {
                let reservation = Self.reservation(1...(Bool.random(using: &generator) ? Self.largest : 50_000), using: &generator)
                if state.admit(reservation, now: start) == nil { transfers.append(Transfer(reservation: reservation)) }
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
            let bytes = transfers.map(\.reservation.bytes)
            #expect(state.reserved == bytes.reduce(0, +), "seed \(seed)")
            #expect(state.reservedAboveShares == bytes.map { max(0, $0 - state.share) }.reduce(0, +), "seed \(seed)")
            #expect(state.reserved <= Self.memory && state.reservedAboveShares <= Self.common, "seed \(seed)")
            var another = BodyReservation(maximumBytes: state.share, announcedBytes: state.share, awaitsContinue: false)
            #expect(state.grow(&another, toHold: state.share, now: start) == nil, "seed \(seed)")
            state.release(&another)
        }
        for var transfer in transfers { state.release(&transfer.reservation) }
        #expect(state.reserved == 0 && state.reservedAboveShares == 0, "seed \(seed)")
    }

    @Test(arguments: 1...20)
    func `at least one of many concurrent large bodies is received`(_: Int) {
        let seed = UInt64.random(in: 0 ... .max)
        var generator = SeededGenerator(seed: seed)
        var state = state
        let count = Int.random(in: 1...Self.connections, using: &generator)
        var transfers = (1...count).map { _ in
            Transfer(reservation: Self.reservation(Self.largest...Self.largest, using: &generator))
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
        #expect(state.reservedAboveShares == 0, "seed \(seed)")
    }
}
