import AppStore
import InboxTesting
import Postgres
import SignedTesting
import StoreSimulator
import Testing

/// Seats that were added to a group's period with its line item, so that both transactions are one purchase.
struct SeatPartTests {
    /// Five seats at 3.99, in a period to which seats were added.
    private static let first = part("1000", onDay: -5, seats: 5)
    /// Two more, bought two days later.
    private static let second = part("1001", onDay: -3, seats: 2)

    private static func part(_ id: String, onDay day: Double, seats: Int32) -> Sale {
        Sale(id, of: "1000", onDay: day, until: 25, price: 3990).with {
            $0.transaction.seats = SimulatedSeats(invitations: .apple, tiers: [SeatTier(price: 3990, quantity: seats)])
            ($0.transaction.quantity, $0.transaction.hasSeatAddition, $0.transaction.webOrderLineItemID) = (seats, true, "51000")
            $0.signedDay = max(day, -2.9)
        }
    }

    /// Whichever refund Apple states last.
    @Test(arguments: [true, false])
    func `access ends with the part that is refunded last`(isStatedLast: Bool) async throws {
        try await WorkerScene.with { scene in
            for part in [Self.first, Self.second] { try await scene.post(part, by: "anna") }
            let (early, late) = (Self.first.refunded(onDay: -2), Self.second.refunded(onDay: -1))
            for refund in isStatedLast ? [early, late] : [late, early.signed(onDay: -0.5)] { try await scene.notify(.refund, of: refund) }
            #expect(try await scene.access(of: "anna") == ["pro.monthly ended refunded -1"])
            #expect(try await scene.orders() == ["1000 anna refunded"])
        }
    }

    @Test func `a copy of a part is not counted`() async throws {
        try await WorkerScene.with { scene in
            for part in [Self.first, Self.second] { try await scene.post(part, by: "anna") }
            let copy = Self.first.with { ($0.transaction.transactionID, $0.signedDay) = ("1002", -1) }
            try await scene.notify(.didChangeRenewalPref, of: copy)
            #expect(try await scene.seats() == ["7 2 0"])
            #expect(try await scene.sums() == ["1000 7 27930 paid"])
        }
    }

    @Test func `a part is refunded when the newest statement about a copy of it says so`() async throws {
        try await WorkerScene.with { scene in
            for part in [Self.first, Self.second] { try await scene.post(part, by: "anna") }
            let copy = Self.second.with { $0.transaction.transactionID = "1002" }
            try await scene.notify(.refund, of: copy.refunded(onDay: -1).with { $0.status = .active })
            #expect(try await scene.sums() == ["1000 7 27930 partly_refunded"])
            #expect(try await scene.charges() == ["1000 0", "1001 100000"])
            #expect(try await scene.seats() == ["7 2 2"])
        }
    }

    @Test func `refunded seats are those of the newest statement about a copy of the part`() async throws {
        try await WorkerScene.with { scene in
            for part in [Self.first, Self.second] { try await scene.post(part, by: "anna") }
            let copy = Self.second.with {
                ($0.transaction.transactionID, $0.signedDay) = ("1002", -2)
                $0.transaction.seats?.revoked = 1
            }
            try await scene.notify(.refund, .seats, of: copy)
            #expect(try await scene.sums() == ["1000 7 27930 partly_refunded"])
            #expect(try await scene.charges() == ["1000 0", "1001 50000"])
            #expect(try await scene.seats() == ["7 2 1"])
        }
    }

    /// The copy has another date than the seats, as a restored transaction may, and no mark.
    @Test func `seats that were added with their own line item are refunded with a copy`() async throws {
        try await WorkerScene.with { scene in
            let added = Self.second.with { $0.transaction.webOrderLineItemID = "51001" }
            for part in [Self.first, added] { try await scene.post(part, by: "anna") }
            try await scene.notify(.refund, of: Self.first.refunded(onDay: -2))
            let copy = added.with {
                ($0.transaction.transactionID, $0.transaction.hasSeatAddition) = ("1002", false)
                $0.transaction.purchaseDate = Sale.day(-2.95)
            }
            try await scene.notify(.refund, of: copy.refunded(onDay: -1))
            #expect(try await scene.charges() == ["1000 100000", "1001 100000"])
            #expect(try await scene.database.lines("SELECT DISTINCT is_refunded::text FROM appstore_reports.charges") == ["true"])
        }
    }

    /// Seats that were added and refunded, where a receipt says of the first ones that they run on.
    @Test func `an operator hears of seats without owner while any part is paid`() async throws {
        try await WorkerScene.with { scene in
            try await scene.answerReceipt([Self.first], onDay: -2.95)
            try await scene.notify(.refund, of: Self.second.refunded(onDay: -1).with { $0.status = .active })
            #expect(try await scene.database.lines("SELECT reason FROM appstore.unmatched") == ["no_user"])
        }
    }

    /// A receipt does not say what was added.
    @Test func `a copy without a mark takes nothing from the seats that were added at its date`() async throws {
        try await WorkerScene.with { scene in
            try await scene.post(Self.first, by: "anna")
            try await scene.answerReceipt([Self.second], onDay: -2.5)
            try await scene.notify(.didChangeRenewalPref, .increaseQuantity, of: Self.second.with { $0.transaction.transactionID = "1002" })
            #expect(try await scene.sums() == ["1000 7 27930 paid"])
            #expect(try await scene.charges() == ["1000 0", "1002 0"])
        }
    }

    /// A receipt says neither seats nor prices.
    @Test func `parts count whatever Apple has said of the first one`() async throws {
        try await WorkerScene.with { scene in
            try await scene.answerReceipt([Self.first], onDay: -4)
            try await scene.notify(.didChangeRenewalPref, .increaseQuantity, of: Self.second)
            let sums = try await scene.sums()
            let purchase = try await scene.database.lines(
                "SELECT concat_ws(' ', p.transaction_id, p.quantity, p.price) FROM appstore.orders AS o, appstore.purchase(o.environment, o.period_no) AS p"
            )
            #expect(sums == purchase.map { "\($0) paid" })
        }
    }

    @Test func `a group without owner is unmatched while a part of it is paid`() async throws {
        try await WorkerScene.with { scene in
            for part in [Self.first, Self.second] { try await scene.notify(.subscribed, .initialBuy, of: part) }
            try await scene.notify(.refund, of: Self.first.refunded(onDay: -1).with { $0.status = .active })
            #expect(try await scene.sums() == ["1000 7 27930 partly_refunded"])
            #expect(try await scene.database.lines("SELECT reason FROM appstore.unmatched") == ["no_user"])
            try await scene.notify(.refund, of: Self.second.refunded(onDay: -0.5))
            #expect(try await scene.database.lines("SELECT reason FROM appstore.unmatched") == [])
        }
    }

    /// More seats, and more money, than a column of the books can hold.
    @Test(arguments: [true, false])
    func `no number that Apple signs stops the books`(sharesLineItem: Bool) async throws {
        try await WorkerScene.with { scene in
            for part in [Self.first, Self.second] {
                let huge = part.with {
                    $0.transaction.seats?.tiers = [SeatTier(price: .max / 2_000_000_000, quantity: 2_000_000_000)]
                    $0.transaction.quantity = 2_000_000_000
                    if !sharesLineItem { $0.transaction.webOrderLineItemID = "5" + $0.transaction.transactionID }
                }
                try await scene.notify(.subscribed, .initialBuy, of: huge)
            }
            let results = try await scene.database.lines(
                "SELECT concat_ws(' ', result, reason, last_error, odd_members) FROM appstore.outcomes"
            )
            #expect(results == ["applied", "applied"])
            #expect(try await scene.seats() == ["2147483647 147483647 0"])
            #expect(Set(try await scene.database.lines("SELECT status FROM appstore.orders")) == ["paid"])
        }
    }
}

extension WorkerScene {
    /// `bought added revoked` of each contract.
    fileprivate func seats() async throws -> [String] {
        try await database.lines("SELECT concat_ws(' ', seats_bought, seats_added, seats_revoked) FROM appstore.contracts")
    }

    /// `transaction refunded` of each charge in reports.
    fileprivate func charges() async throws -> [String] {
        try await database.lines("SELECT concat_ws(' ', transaction_id, refunded_percentage) FROM appstore_reports.charges ORDER BY 1")
    }

    /// `transaction quantity price status` of each order.
    fileprivate func sums() async throws -> [String] {
        try await database.lines("SELECT concat_ws(' ', transaction_id, quantity, price, status) FROM appstore.orders ORDER BY 1")
    }
}
