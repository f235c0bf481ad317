import AppStore
import FoundationEssentials
import InboxTesting
import Postgres
import SignedTesting
import StoreSimulator
import Testing

/// A subscription that its owner shares with the family: members have contracts of their own and pay nothing.
struct FamilySharingTests {
    private static let year = Sale("pro.yearly", "1000", onDay: -2, until: 363, price: 59_990)

    private static func shared(_ id: String, onDay day: Double = -2) -> Sale {
        Sale("pro.yearly", id, onDay: day, until: day + 365).with {
            ($0.transaction.ownership, $0.transaction.price) = (.familyShared, nil)
        }
    }

    @Test(arguments: [true, false])
    func `a member has access until the sharing ends, pays nothing, and is no second refund`(revokeFirst: Bool) async throws {
        try await WorkerScene.with { scene in
            let no = try await scene.order("pro.yearly", by: "anna")
            try await scene.notify(.subscribed, .initialBuy, of: Self.year.with { $0.transaction.appAccountToken = no })
            try await scene.notify(.subscribed, .initialBuy, of: Self.shared("2000"))
            #expect(try await scene.post(Self.shared("2000"), by: "berta", onDay: -1) == "applied")
            #expect(try await scene.access(of: "berta") == ["pro.yearly active active 363"])
            let refund = Self.year.refunded(onDay: -0.5)
            let revoked = Self.shared("2000").revoked(onDay: -0.5, as: .familyRevoke)
            let steps = [
                { try await scene.notify(.refund, of: refund) }, { try await scene.notify(.revoke, of: revoked) },
            ]
            for step in revokeFirst ? steps.reversed() : steps { _ = try await step() }
            #expect(try await scene.access(of: "anna") == ["pro.yearly ended refunded -0.5"])
            #expect(try await scene.access(of: "berta") == ["pro.yearly ended revoked -0.5"])
            #expect(try await scene.orders() == ["1000 anna refunded"])
            #expect(try await scene.effects() == ["granted 1000/51000", "granted 2000/52000", "refunded 1000/51000/0", "revoked"])
            #expect(try await scene.sold() == ["1000 59.99 0.00", "2000"])
        }
    }

    @Test func `a member who joins long after the purchase has no owner until an operator links one`() async throws {
        try await WorkerScene.with { scene in
            let shared = Self.shared("2000", onDay: -20)
            try await scene.notify(.subscribed, .initialBuy, of: shared.signed(onDay: -0.01))
            #expect(try await scene.post(shared.signed(onDay: -0.01), by: "berta") == "applied owner_unknown")
            #expect(try await scene.database.lines("SELECT reason FROM appstore.unmatched") == ["too_late"])
            try await scene.run("SELECT appstore.link_owner('Production', '2000', 'berta', 'ticket')")
            #expect(try await scene.access(of: "berta") == ["pro.yearly active active 345"])
            #expect(try await scene.orders() == [])
        }
    }
}
