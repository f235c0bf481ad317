import AppStore
import Ledger
import Testing

@testable import Commands

struct FactStandingTests {
    private let older = Version(signedDate: Timestamp(millisecondsSince1970: 1), hash: [9])
    private let newer = Version(signedDate: Timestamp(millisecondsSince1970: 2), hash: [1])
    private let newest = Version(signedDate: Timestamp(millisecondsSince1970: 2), hash: [2])

    @Test func `a fact is held, superseded or not merged`() {
        #expect(FactStanding(of: newer, held: newer, others: []).relation == .held)
        #expect(FactStanding(of: older, held: newer, others: []).relation == .superseded)
        #expect(FactStanding(of: newer, held: newest, others: []).relation == .superseded, "the hash decides within a millisecond")
        #expect(FactStanding(of: newest, held: newer, others: []).relation == .notMerged)
        #expect(FactStanding(of: newest, held: nil, others: []).relation == .notMerged)
    }

    @Test func `the event that holds the place is the first that said what the register holds`() {
        let others = [(eventID: Int64(4), version: newest), (3, newest), (2, newer), (1, older)]
        #expect(FactStanding(of: older, held: newest, others: others).heldEvent == 3)
        #expect(FactStanding(of: newest, held: newest, others: others).heldEvent == nil, "it is this one")
        #expect(FactStanding(of: older, held: newest, others: []).heldEvent == nil, "its body is gone")
    }
}
