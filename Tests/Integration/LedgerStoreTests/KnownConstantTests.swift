import AppStore
import FoundationEssentials
import InboxTesting
import Ledger
import LedgerTesting
import Postgres
import StrictJSON
import Testing

/// What cannot change of a charge and is known once stays known, in any order of arrival.
struct KnownConstantTests {
    /// A member that cannot change, with two values.
    struct Member: Sendable, CustomTestStringConvertible {
        let name: String
        let column: String
        let value: JSONValue
        let other: JSONValue

        init(_ name: String, _ column: String, _ value: JSONValue, _ other: JSONValue) {
            (self.name, self.column, self.value, self.other) = (name, column, value, other)
        }

        var testDescription: String { name }
    }

    static let members = [
        Member("price", "price", 4990, 7990), Member("currency", "currency", "USD", "CHF"), Member("quantity", "quantity", 2, 3),
        Member("storefront", "storefront", "DEU", "AUT"), Member("storefrontId", "storefront_id", "143443", "143445"),
        Member("type", "product_type", "Auto-Renewable Subscription", "Non-Renewing Subscription"),
        Member("originalPurchaseDate", "original_purchase_date", 1_767_225_600_123, 1_767_225_601_000),
        Member("transactionReason", "transaction_reason", "PURCHASE", "RENEWAL"), Member("offerType", "offer_type", 1, 2),
        Member("offerIdentifier", "offer_identifier", "spring", "autumn"),
        Member("offerDiscountType", "offer_discount_type", "FREE_TRIAL", "PAY_UP_FRONT"),
        Member("offerPeriod", "offer_period", "P1W", "P1M"),
        Member("inAppOwnershipType", "in_app_ownership_type", "FAMILY_SHARED", "PURCHASED"),
        Member("appTransactionId", "app_transaction_id", "700", "701"),
        Member("previousOriginalTransactionId", "previous_original_transaction_id", "600", "601"),
        Member("subscriptionGroupIdentifier", "subscription_group_identifier", "20001", "20002"),
    ]

    /// The database's lists of such members: those that it joins, those whose lack it sees, and those that the comment names.
    private static let lists: Statement = """
        WITH member AS (
            SELECT a.attname AS name, a.attnotnull AS is_needed, to_jsonb(CASE a.atttypid::regtype::text
                       WHEN 'appstore.environment' THEN 'Production' WHEN 'uuid' THEN '00000000-0000-0000-0000-000000000001'
                       WHEN 'timestamp with time zone' THEN '2026-01-01 00:00Z' WHEN 'jsonb' THEN NULL ELSE '1' END) AS value
            FROM pg_attribute AS a WHERE a.attrelid = 'appstore.transactions'::regclass AND a.attnum > 0 AND NOT a.attisdropped
        ), register AS (
            SELECT jsonb_populate_record(NULL::appstore.transactions, jsonb_object_agg(m.name, m.value)) AS older,
                   jsonb_populate_record(NULL::appstore.transactions, jsonb_object_agg(m.name, m.value) FILTER (WHERE m.is_needed)
                       || '{"signed_date": "2026-02-01 00:00Z", "payload_hash": "2"}') AS newer
            FROM member AS m
        )
        SELECT string_agg(list.name, ' ' ORDER BY list.name COLLATE "C")
        FROM (
            SELECT 1, jsonb_object_keys((appstore.join_constants(r.newer, r.older)).known) FROM register AS r
            UNION ALL
            SELECT 2, m.name::text FROM register AS r, member AS m
            WHERE appstore.lacks_constants(r.newer, jsonb_populate_record(r.newer, jsonb_build_object(m.name, m.value)))
            UNION ALL
            SELECT 3, word[1]
            FROM pg_attribute AS a, substring(col_description(a.attrelid, a.attnum) FROM 'Such members are (.*)') AS words,
                 regexp_matches(words, '[a-z_]+', 'g') AS word
            WHERE a.attrelid = 'appstore.transactions'::regclass AND a.attname = 'known' AND word[1] <> 'and'
        ) AS list (number, name)
        GROUP BY list.number ORDER BY list.number
        """

    @Test func `the database keeps the members that workers keep`() async throws {
        let kept = LastingMember.allCases.map(\.rawValue).sorted()
        #expect(Self.members.map(\.column).sorted() == kept)
        try await LedgerFixture.with { ledger in
            let lists = try await ledger.database.lines(Self.lists)
            #expect(lists == Array(repeating: kept.joined(separator: " "), count: 3))
        }
    }

    private static let orders = [[0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1], [1, 3, 0, 2]]

    @Test(arguments: members)
    func `the newest statement that has a member counts, in any order`(member: Member) async throws {
        func charge(_ id: String, _ value: JSONValue, signedDay: Double) -> Facts.Charge {
            Facts.Charge(id, onDay: 0).with { ($0.contract, $0.signedDay, $0.members[member.name]) = (id, signedDay, value) }
        }
        try await LedgerFixture.with { ledger in
            func row(_ id: String) async throws -> [String] {
                try await ledger.database.lines(
                    """
                    SELECT concat_ws(' ', to_jsonb(t) ->> \(member.column)::text, extract(day FROM t.signed_date AT TIME ZONE 'UTC'))
                    FROM appstore.transactions AS t WHERE t.transaction_id = \(id)
                    """
                )
            }
            try await ledger.merge(charge("1000", member.value, signedDay: 3))
            let expected = try await row("1000")
            #expect(expected != ["4"])
            for (number, order) in Self.orders.enumerated() {
                let id = "\(2000 + number)"
                let facts = [
                    charge(id, member.other, signedDay: 1), charge(id, member.value, signedDay: 2), charge(id, .null, signedDay: 2.5),
                    charge(id, .null, signedDay: 3),
                ]
                for index in order { try await ledger.merge(facts[index]) }
                #expect(try await row(id) == expected, "in the order \(order)")
                try await ledger.merge(ledger.events(facts))
                #expect(try await row(id) == expected, "merged again")
                try await ledger.merge(charge(id, member.other, signedDay: 3.5))
                #expect(try await row(id) != expected, "a newer statement has another value")
            }
            let id = "3000"
            try await ledger.merge(charge(id, member.value, signedDay: 2), charge(id, .null, signedDay: 3))
            #expect(try await row(id) == expected, "in one batch")
            try await ledger.merge(charge(id, member.other, signedDay: 1))
            #expect(try await row(id) == expected)
            #expect(try await misnumbered(ledger) == [])
        }
    }

    @Test func `an order keeps its price when a newer statement has none`() async throws {
        try await LedgerFixture.with { ledger in
            try await ledger.merge(Facts.Charge("1000", onDay: 0))
            let price = "SELECT concat_ws(' ', price, currency) FROM appstore.orders" as Statement
            #expect(try await ledger.database.lines(price) == ["9990 EUR"])
            try await ledger.merge(
                Facts.Charge("1000", onDay: 0).with { charge in
                    (charge.signedDay, charge.members["price"], charge.members["currency"]) = (1, .null, .null)
                }
            )
            #expect(try await ledger.database.lines(price) == ["9990 EUR"])
        }
    }

    @Test func `what no JWS has comes from receipts, in any order`() async throws {
        let charge = Facts.Charge("1000", onDay: 0).with { ($0.ownership, $0.signedDay) = (.familyShared, 2) }
        let without = charge.with { ($0.members["type"], $0.members["inAppOwnershipType"]) = (.null, .null) }
        let details = charge.receipt(.latestReceiptInfo, onDay: 3) { content in
            (content.quantity, content.originalPurchaseDate, content.offerIdentifier) = (4, Facts.timestamp(Facts.day(0)), "spring")
        }
        var states: [[String]] = []
        for order in Self.orders {
            try await LedgerFixture.with { ledger in
                let events = [
                    try ledger.events([without])[0], Facts.receiptEvent(1, receipts: [charge.receipt(.signedReceipt, onDay: 1)]),
                    Facts.receiptEvent(2, receipts: [details]), try ledger.events([without.with { $0.signedDay = 1 }])[0],
                ]
                for index in order { try await ledger.merge([events[index]]) }
                let row = try await ledger.database.lines(
                    """
                    SELECT concat_ws(' ', product_type, in_app_ownership_type, subscription_group_identifier, quantity,
                                     (original_purchase_date AT TIME ZONE 'UTC')::date, offer_identifier, price)
                    FROM appstore.transactions
                    """
                )
                // Offers of receipts do not count beside a JWS.
                #expect(row == ["Auto-Renewable Subscription FAMILY_SHARED 20000 4 2026-01-01 9990"])
                states.append(try await ledger.state())
                try await ledger.merge(charge.with { ($0.ownership, $0.signedDay) = (.purchased, 0) })
                let ownership = "SELECT in_app_ownership_type FROM appstore.transactions" as Statement
                #expect(try await ledger.database.lines(ownership) == ["PURCHASED"], "that of a JWS, however old")
            }
        }
        #expect(Set(states).count == 1)
    }

    private func posted(_ id: Int64, _ charges: Facts.Charge...) -> EventFacts {
        var event = Facts.receiptEvent(id)
        event.awaitedReceipts = charges.map { $0.receipt(.signedReceipt, onDay: 1) }
        return event
    }

    @Test(arguments: [[0, 1], [1, 0]])
    func `what a posted receipt calls a non-consumable gives access, in any order with Apple's answer`(order: [Int]) async throws {
        let kept = Facts.Charge(product: "lifetime", "1000", type: .nonConsumable, onDay: 0)
        let events = [posted(1, kept), Facts.receiptEvent(2, receipts: [kept.receipt(.inApp, onDay: 2)])]
        try await LedgerFixture.with { ledger in
            try await ledger.merge([events[order[0]]])
            // A type alone is no purchase, and a purchase without a type gives no access.
            #expect(try await ledger.contracts() == (order[0] == 0 ? [] : ["1000 - 1000"]))
            try await ledger.merge([events[order[1]]])
            #expect(try await ledger.contracts() == ["1000 - 1000 Infinity"])
            #expect(try await ledger.orders() == ["1000 - paid period"])
            let state = try await ledger.state()
            try await ledger.merge(events)
            #expect(try await ledger.state() == state)
            // A JWS has its own type, or none.
            try await ledger.merge(kept.with { ($0.members["type"], $0.signedDay) = (.null, 3) })
            #expect(try await ledger.contracts() == ["1000 - 1000 Infinity"])
            try await ledger.merge(kept.with { ($0.type, $0.signedDay) = (.consumable, 0) })
            #expect(try await ledger.contracts() == ["1000 - 1000"])
            try await ledger.merge([events[0]])
            #expect(try await ledger.contracts() == ["1000 - 1000"])
        }
        try await LedgerFixture.with { ledger in
            try await ledger.merge(events)
            #expect(try await ledger.contracts() == ["1000 - 1000 Infinity"], "in one batch")
        }
    }

    /// A consumable, and another one that names the first as its original: by its type a purchase of its own, else a copy.
    @Test(arguments: [[0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1], [1, 3, 0, 2]])
    func `the type that another statement has decides which purchase it is`(order: [Int]) async throws {
        let (first, second) = (coins("1000"), coins("1001"))
        func play(_ events: [EventFacts]) async throws -> [[String]] {
            var states: [[String]] = []
            for split in [1, 4] {
                try await LedgerFixture.with { ledger in
                    let events = order.map { events[$0] }
                    for begin in stride(from: 0, to: events.count, by: split) {
                        try await ledger.merge(Array(events[begin..<min(begin + split, events.count)]))
                    }
                    #expect(try await ledger.orders() == ["1000 - paid period", "1001 - paid period"])
                    #expect(try await misnumbered(ledger) == [])
                    states.append(try await ledger.state())
                }
            }
            return states
        }
        let jws = [first, second.with { ($0.members["type"], $0.signedDay) = (.null, 9) }, second, first.with { $0.signedDay = 9 }]
        let signed = try await play(jws.enumerated().map { Facts.event(Int64($0), transaction: try $1.fact()) })
        #expect(signed[0] == signed[1])
        let answer = [first, second].map { Facts.receiptEvent(1, receipts: [$0.receipt(.inApp, onDay: 2)]) }
        let receipts = try await play([answer[0], answer[1], posted(2, first), posted(3, second)])
        #expect(receipts[0] == receipts[1])
        let signedReceipts = [first, second].map { Facts.receiptEvent(4, receipts: [$0.receipt(.signedReceipt, onDay: 1)]) }
        let both = try await play(answer + signedReceipts)
        #expect(both[0] == both[1])
    }

    private func coins(_ id: String) -> Facts.Charge {
        Facts.Charge(product: "coins", id, type: .consumable, onDay: 0).with { $0.contract = "1000" }
    }

    /// The statement that merges numbers purchases as facts do.
    @Test func `the database numbers purchases as workers do`() async throws {
        try await LedgerFixture.with { ledger in
            let ids = ["1", String(repeating: "9", count: 55), String(repeating: "7", count: 64), "ä1"]
            for id in ids {
                let charges: [Facts.Charge] = [
                    Facts.Charge(id, onDay: 0).with { $0.contract = "5" + id }, Facts.Charge("1" + id, onDay: 1).with { $0.lineItem = nil },
                    Facts.Charge(product: "coins", "2" + id, type: .consumable, onDay: 2),
                    Facts.Charge(product: "lifetime", "3" + id, type: .nonConsumable, onDay: 2).with { $0.contract = "6" + id },
                ]
                for environment in [AppStoreEnvironment.production, .sandbox] {
                    try await ledger.merge(ledger.events(charges.map { $0.with { $0.environment = environment } }))
                }
            }
            #expect(try await ledger.database.lines("SELECT count(*)::text FROM appstore.transactions") == ["\(ids.count * 8)"])
            #expect(try await misnumbered(ledger) == [])
        }
    }

    /// The transactions whose number is not that of their purchase.
    private func misnumbered(_ ledger: LedgerFixture) async throws -> [String] {
        try await ledger.database.lines(
            "SELECT t.transaction_id FROM appstore.transactions AS t WHERE t.period_no <> appstore.purchase_number(t) ORDER BY 1"
        )
    }
}
