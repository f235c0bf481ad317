import AppStore
import Ledger
import Testing

@testable import Commands

struct FactStatusTests {
    private let older = Version(signedDate: Timestamp(millisecondsSince1970: 1), hash: [9])
    private let newer = Version(signedDate: Timestamp(millisecondsSince1970: 2), hash: [1])
    private let newest = Version(signedDate: Timestamp(millisecondsSince1970: 2), hash: [2])

    @Test func `a fact is held, superseded or not merged`() {
        #expect(FactStatus(of: newer, held: newer, others: []).relation == .held)
        #expect(FactStatus(of: older, held: newer, others: []).relation == .superseded)
        #expect(FactStatus(of: newer, held: newest, others: []).relation == .superseded, "the hash decides within a millisecond")
        #expect(FactStatus(of: newest, held: newer, others: []).relation == .notMerged)
        #expect(FactStatus(of: newest, held: nil, others: []).relation == .notMerged)
    }

    @Test func `the event behind a register's state is the first with that state`() {
        let others = [(eventID: Int64(4), version: newest), (3, newest), (2, newer), (1, older)]
        #expect(FactStatus(of: older, held: newest, others: others).heldEvent == 3)
        #expect(FactStatus(of: newest, held: newest, others: others).heldEvent == nil, "it is this one")
        #expect(FactStatus(of: older, held: newest, others: []).heldEvent == nil, "its body is gone")
    }
}
