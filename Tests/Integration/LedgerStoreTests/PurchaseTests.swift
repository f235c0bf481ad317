import AppStore
import FoundationEssentials
import InboxTesting
import Ledger
import LedgerTesting
import Postgres
import StrictJSON
import Testing

/// What a purchase is, where Apple tells of it by several transactions, and which one is current.
struct PurchaseTests {
    /// A product that is kept, its copy on a second device, and one on a third.
    private let original = Facts.Charge(product: "lifetime", "1000", type: .nonConsumable, onDay: 0)
    private let copy = Facts.Charge(product: "lifetime", "2000", type: .nonConsumable, onDay: 10).with { $0.contract = "1000" }
    private let later = Facts.Charge(product: "lifetime", "3000", type: .nonConsumable, onDay: 20).with { $0.contract = "1000" }

    @Test(arguments: [[0, 1, 2], [2, 1, 0], [1, 0, 2]])
    func `a product that is restored on other devices is one purchase`(order: [Int]) async throws {
        try await LedgerFixture.with { ledger in
            for index in order { try await ledger.merge([original, copy, later][index]) }
            #expect(try await ledger.orders() == ["1000 - paid period"])
            #expect(try await ledger.contracts() == ["1000 - 1000 Infinity"])
        }
    }

    @Test func `the token of a copy pays nothing, as soon as the purchase is known`() async throws {
        try await LedgerFixture.with { ledger in
            let (annas, bertas) = (UUID(), UUID())
            try await ledger.createOrder(annas, user: "anna", product: "lifetime")
            try await ledger.createOrder(bertas, user: "berta", product: "lifetime")
            try await ledger.merge(copy.with { $0.token = bertas })
            #expect(try await ledger.orders() == ["- anna pending token", "2000 berta paid token"])
            try await ledger.merge(original.with { $0.token = annas })
            #expect(try await ledger.orders() == ["- berta pending token", "1000 anna paid token"])
            #expect(try await ledger.contracts() == ["1000 anna 1000 Infinity"])
        }
    }

    @Test func `a copy of a period pays the order of who owned the contract when the period was bought`() async throws {
        try await LedgerFixture.with { ledger in
            try await ledger.submit(Facts.Charge("1000", onDay: 0), by: "anna", onDay: 0)
            let period = Facts.Charge("1001", onDay: 30)
            try await ledger.merge(period, period.with { ($0.id, $0.purchaseDay, $0.signedDay) = ("1500", 32, 32) })
            try await ledger.link("1000", to: "berta", onDay: 31)
            try await ledger.merge(Facts.Charge("1600", onDay: 60))
            let users: Statement = """
                SELECT concat_ws(' ', t.transaction_id, o.user_id, given.user_id)
                FROM appstore.transactions AS t
                JOIN appstore.orders AS o USING (environment, order_no)
                CROSS JOIN LATERAL appstore.order_user(
                    t.environment, t.order_no, t.period_no, t.original_transaction_id, t.purchase_date, t.is_later_copy) AS given
                ORDER BY t.transaction_id
                """
            let expected = ["1000 anna anna", "1001 anna anna", "1500 anna anna", "1600 berta berta"]
            #expect(try await ledger.database.lines(users) == expected)
        }
    }

    @Test func `a role of its own that may read one view of orders alone reads it`() async throws {
        try await LedgerFixture.with { ledger in
            try await ledger.createOrder(UUID(), user: "anna")
            try await ledger.submit(Facts.Charge("1000", onDay: 0), by: "anna", onDay: 0)
            for view in ["orders", "order_status", "user_orders", "payments"] {
                let role = "only_\(view)_\(UInt32.random(in: 0...(.max)))"
                try await ledger.database.withConnection { connection in
                    try await connection.runScript(
                        """
                        CREATE ROLE \(role); GRANT USAGE ON SCHEMA appstore TO \(role); GRANT SELECT ON appstore.\(view) TO \(role);
                        SET ROLE \(role)
                        """
                    )
                    let rows = try await connection.query("SELECT FROM appstore.\(identifier: view) AS o WHERE o.user_id = 'anna'")
                    #expect(rows.count == (view == "payments" ? 1 : 2), "\(view)")
                    try await connection.runScript("RESET ROLE; DROP OWNED BY \(role); DROP ROLE \(role)")
                }
            }
        }
    }

    @Test(arguments: [InAppOwnershipType.purchased, .familyShared])
    func `a copy is marked as long as an earlier transaction of its purchase is known`(ownership: InAppOwnershipType) async throws {
        try await LedgerFixture.with { ledger in
            let period = Facts.Charge("1001", onDay: 30).with { $0.ownership = ownership }
            let copy = period.with { $0.id = "1500" }
            // Each statement about the first transaction, and whether the other one is a copy then.
            let steps: [(Facts.Charge, Bool)] = [
                (period, true), (period.with { ($0.lineItem, $0.signedDay) = ("6", 40) }, false), (period.with { $0.signedDay = 41 }, true),
                (period.with { ($0.contract, $0.signedDay) = ("2000", 42) }, false),
            ]
            try await ledger.merge(copy)
            for (statement, isCopy) in steps {
                try await ledger.merge(statement)
                let marked = try await ledger.database.lines("SELECT transaction_id FROM appstore.transactions WHERE is_later_copy")
                #expect(marked == (isCopy ? ["1500"] : []))
                let state = try await ledger.state()
                let again: Statement = "SELECT appstore.derive_ledger('Production', '{1001,1500}', '{1000,2000}')::text"
                #expect(try await ledger.database.lines(again) == ["false"])
                #expect(try await ledger.state() == state)
            }
        }
    }

    @Test func `what Apple stated last about any transaction of a purchase decides`() async throws {
        try await LedgerFixture.with { ledger in
            try await ledger.merge(original, copy)
            try await ledger.merge(copy.with { ($0.revocationDay, $0.signedDay) = (12, 12) })
            #expect(try await ledger.orders() == ["1000 - refunded period"])
            #expect(try await ledger.contracts() == ["1000 - 1000 12"])
            try await ledger.merge(original.with { $0.signedDay = 14 })
            #expect(try await ledger.orders() == ["1000 - paid period"])
            #expect(try await ledger.contracts() == ["1000 - 1000 Infinity"])
        }
    }

    @Test func `a copy of a period neither pays nor is refunded by itself`() async throws {
        try await LedgerFixture.with { ledger in
            let period = Facts.Charge("1000", onDay: 0)
            let copy = Facts.Charge("1500", onDay: 0).with { ($0.lineItem, $0.signedDay) = (period.lineItem, 5) }
            try await ledger.merge(period)
            try await ledger.merge(copy)
            #expect(try await ledger.orders() == ["1000 - paid period"])
            try await ledger.merge(period.with { ($0.revocationDay, $0.signedDay) = (8, 8) })
            #expect(try await ledger.orders() == ["1000 - refunded period"])
            #expect(try await ledger.contracts() == ["1000 - 1000 8"])
        }
    }

    /// The facts of a renewal that was charged a day early, and of an upgrade that was bought before it begins.
    private var early: [Facts.Charge] {
        [
            Facts.Charge("1000", onDay: 0).with { $0.product = "basic.monthly" },
            Facts.Charge("1001", onDay: 30).with { ($0.product, $0.signedDay) = ("basic.monthly", 29) },
            Facts.Charge("1002", onDay: 29.5).with { ($0.product, $0.expiresDay) = ("premium.yearly", 394.5) },
        ]
    }

    @Test(arguments: [[0, 1, 2], [2, 1, 0], [1, 2, 0]])
    func `an upgrade bought after an early renewal is current as soon as Apple marks the renewal`(order: [Int]) async throws {
        try await LedgerFixture.with { ledger in
            for index in order { try await ledger.merge(early[index]) }
            #expect(try await ledger.contracts() == ["1000 - 1001 60"], "nothing says that the upgrade replaces it")
            try await ledger.merge(early[1].with { ($0.isUpgraded, $0.signedDay) = (true, 29.6) })
            #expect(try await ledger.contracts() == ["1000 - 1002 394.5"])
            // Its refund by Apple does not end the upgrade either.
            try await ledger.merge(early[1].with { ($0.isUpgraded, $0.revocationDay, $0.signedDay) = (true, 29.5, 29.7) })
            #expect(try await ledger.contracts() == ["1000 - 1002 394.5"])
        }
    }

    @Test func `an upgrade beside an early renewal is current as soon as the renewal info names it`() async throws {
        try await LedgerFixture.with { ledger in
            try await ledger.merge(early[0], early[1], early[2])
            try await ledger.merge(early[0], renewals: [renewal(of: "premium.yearly", signedDay: 29)])
            #expect(try await ledger.contracts() == ["1000 - 1001 60"], "it does not know of the upgrade yet")
            try await ledger.merge(early[0], renewals: [renewal(of: "premium.yearly", signedDay: 29.5)])
            #expect(try await ledger.contracts() == ["1000 - 1002 394.5"])
        }
    }

    private func renewal(of product: String, signedDay: Double) throws -> SubscriptionFact {
        SubscriptionFact(
            key: LedgerKey(environment: .production, id: "1000"),
            signedDate: Facts.timestamp(Facts.day(signedDay)),
            hash: [1],
            status: .active,
            renewalInfo: JWSRenewalInfoDecodedPayload(decoding: JSONObject([("productId", .string(product))]))
        )
    }

    private let grace = Facts.Charge("1000", onDay: 0)

    @Test func `a grace period without a date gives access for four weeks`() async throws {
        try await LedgerFixture.with { ledger in
            try await ledger.merge(grace, renewals: [Facts.subscription("1000", signedDate: Facts.day(30), status: .billingGracePeriod)])
            #expect(try await ledger.contracts() == ["1000 - 1000 58"])
            // The same by the way that plain events take.
            try await ledger.merge(
                grace.with { $0.signedDay = 31 },
                renewals: [Facts.subscription("1000", signedDate: Facts.day(31), status: .billingGracePeriod)]
            )
            #expect(try await ledger.contracts() == ["1000 - 1000 58"])
        }
    }

    /// An event with a refund of the purchase that Apple dates so.
    private func refund(_ charge: Facts.Charge, onDay day: Double, signed: Double) throws -> EventFacts {
        let fact = try charge.with { ($0.revocationDay, $0.signedDay) = (day, signed) }.fact()
        let date = Facts.timestamp(Facts.day(day))
        return Facts.event(
            Int64.random(in: 1...(.max)),
            uuid: UUID().uuidString,
            transaction: fact,
            effects: [
                Effect(
                    key: EffectKey(environment: .production, kind: .refunded, subject: "\(fact.purchase)/\(date.millisecondsSince1970)"),
                    occurredAt: date,
                    originalTransactionID: fact.originalTransactionID,
                    transactionID: fact.key.id,
                    productID: fact.productID
                )
            ]
        )
    }

    private func reversal(_ charge: Facts.Charge, onDay day: Double) throws -> EventFacts {
        let uuid = UUID().uuidString
        return Facts.event(
            Int64.random(in: 1...(.max)),
            uuid: uuid,
            transaction: try charge.with { $0.signedDay = day }.fact(),
            refundStatement: try Facts.refundStatement(.reversed, of: charge, uuid: uuid, signedDate: Facts.day(day))
        )
    }

    private func refunds(_ ledger: LedgerFixture) async throws -> [String] {
        try await ledger.database.lines("SELECT subject FROM appstore.effects WHERE kind = 'refunded' ORDER BY subject")
    }

    @Test func `a refund whose date Apple moves, or that a copy repeats, is one refund`() async throws {
        try await LedgerFixture.with { ledger in
            _ = try await ledger.mergeWithEffects([refund(original, onDay: 5, signed: 5)])
            _ = try await ledger.mergeWithEffects([refund(original, onDay: 16, signed: 16), refund(copy, onDay: 16, signed: 17)])
            #expect(try await refunds(ledger) == ["1000/0"])
            let marks = "SELECT (restated_date - occurred_at)::text FROM appstore.effects WHERE kind = 'refunded'"
            #expect(try await ledger.database.lines("\(unsafeRaw: marks)") == ["11 days"])
        }
    }

    @Test(arguments: 0..<6) func `a refund after a reversal is another one, in whatever order both come`(order: Int) async throws {
        try await LedgerFixture.with { ledger in
            var events = try [refund(original, onDay: 5, signed: 5), reversal(original, onDay: 7), refund(original, onDay: 9, signed: 9)]
            let first = events.remove(at: order % 3)
            for event in [first] + (order < 3 ? events : events.reversed()) { _ = try await ledger.mergeWithEffects([event]) }
            #expect(try await refunds(ledger) == ["1000/0", "1000/1"])
        }
    }

    @Test func `a refund that runs again is the event's own`() async throws {
        try await LedgerFixture.with { ledger in
            let event = try refund(original, onDay: 5, signed: 5)
            for _ in 0..<2 {
                let merged = try await ledger.mergeWithEffects([event])
                #expect(BatchFold([event]).result(of: event, after: merged) == .applied)
            }
        }
    }
}
