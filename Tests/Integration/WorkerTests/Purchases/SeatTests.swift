import AppStore
import FoundationEssentials
import InboxTesting
import Postgres
import SignedTesting
import StoreSimulator
import Testing

/// A subscription of which a customer buys several seats for a group, and the members to whom seats are assigned.
struct SeatTests {
    /// Five seats at 3.99.
    private static let group = Sale("1000", onDay: -5, price: 3990).seats(.init(price: 3990, quantity: 5))
    /// Two more of them, bought two days later. All transactions of the period then have the reason.
    private static let addition = Sale("1001", of: "1000", onDay: -3, until: 25, price: 3990).seats(.init(price: 3990, quantity: 2)).added()

    private static func member(_ id: String, onDay day: Double = -4) -> Sale {
        Sale(id, onDay: day, until: 25, price: 3990).seats(.init(price: 3990, quantity: 5)).with { $0.transaction.ownership = .assigned }
    }

    @Test func `money of a group is the sum of its tiers, once`() async throws {
        try await WorkerScene.with { scene in
            let group = Self.group.seats(.init(price: 3990, quantity: 2), .init(price: 2990, quantity: 1))
            try await scene.notify(.subscribed, .initialBuy, of: group.with { $0.transaction.price = 3657 })
            try await scene.notify(.subscribed, .initialBuy, of: Self.member("2000"))
            #expect(try await scene.money() == ["1000 3 10970 paid"])
            #expect(try await scene.revenue() == ["1 10.97"])
            #expect(try await scene.sold() == ["1000 10.97 10.97", "2000"])
        }
    }

    @Test func `tiers that cannot be read count by the average`() async throws {
        try await WorkerScene.with { scene in
            let group = Self.group.with { $0.transaction.seats?.tiers = [] }
            try await scene.notify(.subscribed, .initialBuy, of: group)
            #expect(try await scene.money() == ["1000 5 19950 paid"])
            #expect(try await scene.revenue() == ["1 19.95"])
        }
    }

    @Test(arguments: [InAppOwnershipType.assigned, .familyShared, .init(rawValue: "LENT")])
    func `who did not buy has access and pays nothing`(ownership: InAppOwnershipType) async throws {
        try await WorkerScene.with { scene in
            let no = try await scene.order("pro.monthly", by: "berta")
            let member = Self.member("2000").with { ($0.transaction.ownership, $0.transaction.appAccountToken) = (ownership, no) }
            try await scene.notify(.subscribed, .initialBuy, of: member)
            #expect(try await scene.post(member, by: "berta", onDay: -3.9) == "applied")
            #expect(try await scene.access(of: "berta") == ["pro.monthly active active 25"])
            #expect(try await scene.orders() == ["- berta pending"])
            #expect(try await scene.revenue() == [])
            #expect(try await scene.ownership() == ["2000 \(ownership.rawValue)"])
            #expect(try await scene.database.lines("SELECT reason FROM appstore.unmatched") == [])
        }
    }

    @Test(arguments: [RevocationType.assignmentRevoke, .familyRevoke, .init(rawValue: "LOAN_REVOKE")])
    func `the end of an assignment is no refund`(type: RevocationType) async throws {
        try await WorkerScene.with { scene in
            try await scene.notify(.subscribed, .initialBuy, of: Self.group)
            try await scene.post(Self.member("2000"), by: "berta")
            try await scene.notify(.revoke, of: Self.member("2000").revoked(onDay: -2, as: type))
            #expect(try await scene.access(of: "berta") == ["pro.monthly ended revoked -2"])
            #expect(try await scene.money() == ["1000 5 19950 paid"])
            #expect(try await scene.effects() == ["granted 1000/51000", "granted 2000/52000", "revoked"])
            #expect(try await scene.refunds() == ["1 0 19.95"])
        }
    }

    @Test func `what was bought and is revoked in an unknown way is not refunded`() async throws {
        try await WorkerScene.with { scene in
            try await scene.post(Self.group, by: "anna")
            try await scene.notify(.revoke, of: Self.group.revoked(onDay: -2, as: .init(rawValue: "LOAN_REVOKE")))
            #expect(try await scene.access(of: "anna") == ["pro.monthly ended revoked -2"])
            #expect(try await scene.money() == ["1000 5 19950 paid"])
            #expect(try await scene.effects() == ["granted 1000/51000", "revoked"])
            #expect(try await scene.refunds() == ["1 0 19.95"])
        }
    }

    /// Whether an addition has a line item of its own is not documented.
    @Test(arguments: [true, false], [true, false])
    func `added seats run beside the first ones`(sharesLineItem: Bool, isFirstLate: Bool) async throws {
        try await WorkerScene.with { scene in
            let addition = Self.addition.with { if sharesLineItem { $0.transaction.webOrderLineItemID = "51000" } }
            if !isFirstLate { try await scene.post(Self.group, by: "anna") }
            try await scene.notify(.subscribed, of: addition)
            if isFirstLate { try await scene.post(Self.group.added().signed(onDay: -2.9), by: "anna") }
            #expect(try await scene.money() == (sharesLineItem ? ["1000 7 27930 paid"] : ["1000 5 19950 paid", "1001 2 7980 paid"]))
            #expect(try await scene.revenue() == ["1 27.93"])
            #expect(try await scene.access(of: "anna") == ["pro.monthly active active 25"])
            #expect(try await scene.moved() == ["1 0 0"])
        }
    }

    /// Apple: the purchaser keeps access until all transactions of the period are revoked.
    @Test(arguments: [[1], [1, 2], [0], [0, 1], [0, 2]], [true, false])
    func `access of a group lasts as long as one of its purchases does`(refunded: [Int], sharesLineItem: Bool) async throws {
        try await WorkerScene.with { scene in
            let second = Self.addition.with {
                ($0.transaction.transactionID, $0.transaction.webOrderLineItemID) = ("1002", "51002")
                ($0.transaction.purchaseDate, $0.signedDay) = (Sale.day(-2), -2)
            }
            let parts = [Self.group.added(), Self.addition, second].map { part in
                part.with { if sharesLineItem { $0.transaction.webOrderLineItemID = "51000" } }
            }
            for part in parts { try await scene.post(part.signed(onDay: max(part.signedDay, -2.9)), by: "anna") }
            for part in refunded { try await scene.notify(.refund, of: parts[part].refunded(onDay: -1).with { $0.status = .active }) }
            #expect(try await scene.access(of: "anna") == ["pro.monthly active active 25"])
            let rest = Set(0...2).subtracting(refunded)
            for part in rest.sorted() { try await scene.notify(.refund, of: parts[part].refunded(onDay: -0.5)) }
            #expect(try await scene.access(of: "anna") == ["pro.monthly ended refunded -0.5"])
            #expect(Set(try await scene.orders().map { $0.suffix(9) }) == [" refunded"])
            #expect(try await scene.revenue() == [])
        }
    }

    @Test(arguments: [true, false])
    func `the money of a refunded part ends then, and the subscription with the last part`(sharesLineItem: Bool) async throws {
        try await WorkerScene.with { scene in
            let addition = Self.addition.with { if sharesLineItem { $0.transaction.webOrderLineItemID = "51000" } }
            try await scene.post(Self.group.added().signed(onDay: -2.9), by: "anna")
            try await scene.post(addition, by: "anna")
            try await scene.notify(.refund, of: Self.group.added().refunded(onDay: -0.1).with { $0.status = .active })
            // The refund may be of yesterday, if it is early in the day.
            #expect(try await scene.revenue(daysAgo: 2) == ["1 27.93"])
            #expect(try await scene.revenue() == ["1 7.98"])
            #expect(try await scene.moved() == ["1 0 0"])
            #expect(try await scene.refunds() == ["2 1 7.98"])
        }
    }

    @Test func `a restored copy of a part is not paid again`() async throws {
        try await WorkerScene.with { scene in
            let addition = Self.addition.with { $0.transaction.webOrderLineItemID = "51000" }
            let copy = Self.group.added().with {
                ($0.transaction.transactionID, $0.transaction.originalTransactionID) = ("1002", "1000")
                $0.renewal?.originalTransactionID = "1000"
            }
            for sale in [Self.group.added(), addition, copy] { try await scene.post(sale.signed(onDay: -2.9), by: "anna") }
            #expect(try await scene.revenue() == ["1 27.93"])
            #expect(try await scene.refunds() == ["2 0 27.93"])
        }
    }

    /// Apple tells of the failed renewal with one of the transactions.
    @Test(arguments: [true, false], [true, false])
    func `a grace period is of all parts`(isOfAddition: Bool, sharesLineItem: Bool) async throws {
        try await WorkerScene.with { scene in
            let group = Sale("1000", onDay: -35, until: -5, price: 3990).seats(.init(price: 3990, quantity: 5)).added()
            let addition = Sale("1001", of: "1000", onDay: -30, until: -5, price: 3990).seats(.init(price: 3990, quantity: 2)).added()
                .with { if sharesLineItem { $0.transaction.webOrderLineItemID = "51000" } }
            for part in [group, addition] { try await scene.post(part, by: "anna") }
            let failed = (isOfAddition ? addition : group).signed(onDay: -5).with {
                $0.status = .billingGracePeriod
                $0.renewal?.gracePeriodExpiresDate = Sale.day(11)
            }
            try await scene.notify(.didFailToRenew, .gracePeriod, of: failed)
            #expect(try await scene.revenue() == ["1 27.93"])
            #expect(try await scene.renewals() == ["billing_issue 1"])
            #expect(try await scene.moved() == ["1 0 0"])
        }
    }

    @Test func `what a customer chose of renewal stays when seats are added`() async throws {
        try await WorkerScene.with { scene in
            for part in [Self.group, Self.group.added().signed(onDay: -2.9), Self.addition] {
                try await scene.notify(.subscribed, of: part.with { $0.renewal?.autoRenews = false })
                #expect(try await scene.renewals() == ["set_to_cancel 1"])
            }
        }
    }

    @Test func `refunded seats take money and no access`() async throws {
        try await WorkerScene.with { scene in
            try await scene.post(Self.group, by: "anna")
            for seats in [1, 3] as [Int32] {
                let refunded = Self.group.signed(onDay: -3 + Double(seats) / 10).with { $0.transaction.seats?.revoked = seats }
                for _ in 0..<2 { try await scene.notify(.refund, .init(rawValue: "SEATS"), of: refunded) }
            }
            #expect(try await scene.access(of: "anna") == ["pro.monthly active active 25"])
            #expect(try await scene.money() == ["1000 5 19950 partly_refunded"])
            #expect(try await scene.revenue() == ["1 7.98"])
            #expect(try await scene.refunds() == ["1 1 7.98"])
            #expect(try await scene.seatEffects() == ["1000/1", "1000/3"])
        }
    }

    @Test func `a renewal of a group is one charge of its seats`() async throws {
        try await WorkerScene.with { scene in
            let first = Sale("1000", onDay: -33, until: -3, price: 3990).seats(.init(price: 3990, quantity: 5))
            let renewal = Sale("1001", of: "1000", onDay: -3, price: 3990).seats(.init(price: 3990, quantity: 6))
            try await scene.post(first, by: "anna")
            try await scene.notify(.didRenew, of: renewal.with { $0.transaction.reason = .renewal })
            #expect(try await scene.money() == ["1000 5 19950 paid", "1001 6 23940 paid"])
            #expect(try await scene.revenue() == ["1 23.94"])
        }
    }

    @Test func `the purchaser's seats are shown wherever the contract is`() async throws {
        try await WorkerScene.with { scene in
            try await scene.run("SELECT appstore.enable_feed()")
            try await scene.post(Self.group.added().signed(onDay: -2.9), by: "anna")
            try await scene.post(Self.member("2000"), by: "berta")
            let addition = Self.addition.with {
                $0.transaction.seats?.revoked = 1
                $0.renewal?.renewalQuantity = 6
            }
            try await scene.notify(.refund, .seats, of: addition)
            let seats = #"{"added": 2, "bought": 7, "revoked": 1, "renewing": 6, "invitations": "APPLE"}"#
            #expect(
                try await scene.database.lines("SELECT concat_ws(' ', user_id, seats) FROM appstore.entitlements ORDER BY 1")
                    == ["anna \(seats)", "berta"]
            )
            let told = try await scene.database.lines(
                "SELECT concat_ws(' ', data -> 'seats', data #> '{transaction,revoked_seats}') FROM appstore.feed WHERE type = 'effect.seats_refunded'"
            )
            #expect(told == ["\(seats) 1"])
            let customers = try await scene.database.lines(
                """
                SELECT concat_ws(' ', c -> 'seats', c ->> 'original_transaction_id')
                FROM unnest('{anna,berta}'::text[]) AS u (id), jsonb_array_elements(appstore.explain_customer(u.id) -> 'contracts') AS c ORDER BY 1
                """
            )
            #expect(customers == ["2000", "\(seats) 1000"])
        }
    }
}

extension Sale {
    /// The same purchase, for seats of a group.
    fileprivate func seats(_ tiers: SeatTier...) -> Sale {
        with {
            $0.transaction.seats = SimulatedSeats(invitations: .apple, tiers: tiers, revoked: nil)
            $0.transaction.quantity = tiers.reduce(0) { $0 + $1.quantity }
        }
    }

    /// The same purchase, in a period to which seats were added.
    fileprivate func added() -> Sale { with { $0.transaction.hasSeatAddition = true } }
}

extension WorkerScene {
    /// `transaction quantity price status` of each paid order.
    fileprivate func money() async throws -> [String] {
        try await database.lines(
            "SELECT concat_ws(' ', transaction_id, quantity, price, status) FROM appstore.orders WHERE paid_at IS NOT NULL ORDER BY 1"
        )
    }

    /// `subscriptions mrr` of now.
    fileprivate func revenue() async throws -> [String] {
        try await database.lines("SELECT concat_ws(' ', subscriptions, mrr) FROM appstore_reports.mrr()")
    }

    /// `subscriptions mrr` at the end of a day.
    fileprivate func revenue(daysAgo days: Int32) async throws -> [String] {
        try await database.lines("SELECT concat_ws(' ', subscriptions, mrr) FROM appstore_reports.mrr(current_date - \(days))")
    }

    /// `status subscriptions` of now.
    fileprivate func renewals() async throws -> [String] {
        try await database.lines("SELECT concat_ws(' ', status, subscriptions) FROM appstore_reports.renewal_status_at()")
    }

    /// `transaction ownership` of each charge in reports.
    fileprivate func ownership() async throws -> [String] {
        try await database.lines(
            "SELECT concat_ws(' ', store_transaction_id, ownership_type) FROM appstore_reports.transactions ORDER BY 1"
        )
    }

    /// `new renewals churned` of the last days.
    fileprivate func moved() async throws -> [String] {
        try await database.lines(
            """
            SELECT concat_ws(' ', sum(new_subscriptions), sum(renewals), sum(churned))
            FROM appstore_reports.movement(current_date - 40, current_date, every => 'year')
            """
        )
    }

    /// `charges refunded revenue` of the last days.
    fileprivate func refunds() async throws -> [String] {
        try await database.lines(
            """
            SELECT concat_ws(' ', sum(transactions), sum(refunded), sum(revenue))
            FROM appstore_reports.refunds(current_date - 40, current_date, every => 'year')
            """
        )
    }

    fileprivate func seatEffects() async throws -> [String] {
        try await database.lines("SELECT subject FROM appstore.effects WHERE kind = 'seats_refunded' ORDER BY 1")
    }
}
