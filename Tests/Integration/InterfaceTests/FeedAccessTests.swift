import Foundation
import InboxTesting
import Postgres
import PostgresTesting
import Randomness
import Testing

/// What the feed tells of access, orders and users: whenever it differs from what was told last, whatever changed it.
struct FeedAccessTests {
    private static func with(_ body: (TestLedger) async throws -> Void) async throws {
        try await TestLedger.with { ledger in
            try await ledger.run("INSERT INTO appstore.products VALUES ('com.example.app', 'pro.monthly', 'pro', NULL)")
            try await ledger.run("SELECT appstore.enable_feed()", as: "appstore_operator")
            try await body(ledger)
        }
    }

    /// Today, in days after 2026-01-01.
    private static let today = (Date.now.timeIntervalSince1970 - 1_767_225_600) / 86_400

    @Test func `a purchase without an order number is told when create_order makes it a user's, and when it is linked to another`()
        async throws
    {
        try await Self.with { ledger in
            let order = UUID()
            try await ledger.put(Charge("1000", onDay: Self.today - 1, token: order))
            #expect(try await ledger.told() == [])
            try await ledger.makeOrder(order, user: "anna")
            #expect(try await ledger.told() == ["access.changed anna pro true active", "order.paid anna paid"])
            try await ledger.run("SELECT appstore.link_owner('Production', '1000', 'berta')", as: "appstore_backend")
            #expect(
                try await ledger.told() == [
                    "access.changed anna pro false owner_changed", "access.changed berta pro true active", "owner.changed anna berta link",
                ]
            )
            try await ledger.run("SELECT appstore.unlink_owner('Production', '1000')", as: "appstore_operator")
            #expect(
                try await ledger.told() == [
                    "access.changed anna pro true active", "access.changed berta pro false owner_changed", "owner.changed berta anna order",
                ]
            )
            #expect(try await ledger.lines("SELECT count(DISTINCT id)::text FROM appstore.feed") == ["8"])
        }
    }

    @Test func `another owner is told also where nothing gives access any more`() async throws {
        try await Self.with { ledger in
            let order = UUID()
            try await ledger.makeOrder(order, user: "anna")
            try await ledger.put(Charge("1000", onDay: Self.today - 90, token: order))
            #expect(try await ledger.told() == ["access.changed anna pro false expired", "order.paid anna paid"])
            try await ledger.run("SELECT appstore.link_owner('Production', '1000', 'berta')", as: "appstore_backend")
            #expect(try await ledger.told() == ["access.changed berta pro false expired", "owner.changed anna berta link"])
            try await ledger.run("SELECT appstore.link_owner('Production', '1000', 'berta')", as: "appstore_backend")
            #expect(try await ledger.told() == [])
        }
    }

    @Test func `a consumable is told when its order is paid, and when it is refunded`() async throws {
        try await Self.with { ledger in
            let order = UUID()
            try await ledger.makeOrder(order, user: "anna", product: "coins")
            #expect(try await ledger.told() == [])
            let coins = Charge("coins", "Consumable", "1000", onDay: Self.today - 1, token: order)
            try await ledger.put(coins)
            #expect(try await ledger.told() == ["order.paid anna paid"])
            try await ledger.put(coins.with { ($0.revocationDay, $0.signedDay) = (Self.today, Self.today) })
            #expect(try await ledger.told() == ["order.refunded anna refunded"])
            try await ledger.put(coins.with { $0.signedDay = Self.today + 0.001 })
            #expect(try await ledger.told() == ["order.paid anna paid"])
            #expect(try await ledger.lines("SELECT count(DISTINCT id)::text FROM appstore.feed") == ["3"])
        }
    }

    @Test func `the end of access is told by the clock alone`() async throws {
        try await Self.with { ledger in
            let order = UUID()
            try await ledger.makeOrder(order, user: "anna")
            let ending = Self.today + (Date.now.timeIntervalSince1970 - 1_767_225_600) / 86_400 - Self.today + 3 / 86_400
            try await ledger.put(Charge("1000", onDay: Self.today - 1, token: order).with { $0.endDay = ending })
            #expect(try await ledger.told() == ["access.changed anna pro true active", "order.paid anna paid"])
            try await eventually("the end is told") { try await ledger.told() == ["access.changed anna pro false expired"] }
            #expect(
                try await ledger.lines(
                    "SELECT (f.occurred_at = c.access_until)::text FROM appstore.feed AS f, appstore.contracts AS c WHERE f.position = 3"
                ) == ["true"]
            )
        }
    }

    @Test func `what was known before the feed was enabled is told when it changes, or at once with the past`() async throws {
        try await Self.with { ledger in
            try await ledger.run("SELECT appstore.disable_feed()", as: "appstore_operator")
            let order = UUID()
            try await ledger.makeOrder(order, user: "anna")
            let charge = Charge("1000", onDay: Self.today - 1, token: order)
            try await ledger.put(charge)
            try await ledger.run("SELECT appstore.enable_feed()", as: "appstore_operator")
            try await ledger.put(charge)
            #expect(try await ledger.told() == [])
            try await ledger.put(charge.with { ($0.revocationDay, $0.signedDay) = (Self.today, Self.today) })
            #expect(try await ledger.told() == ["access.changed anna pro false refunded", "order.refunded anna refunded"])
            try await ledger.run("SELECT appstore.disable_feed()", as: "appstore_operator")
            try await ledger.run("SELECT appstore.enable_feed(with_past => true)", as: "appstore_operator")
            #expect(try await ledger.told() == ["access.changed anna pro false refunded", "order.refunded anna refunded"])
        }
    }

    @Test func `forgetting reaches what was told and what waits, and tells receivers to do the same`() async throws {
        try await ForgetScene.with { ledger in
            try await ledger.run("SELECT appstore.enable_feed(with_past => true)", as: "appstore_operator")
            _ = try await ledger.told()
            try await ledger.run("SELECT appstore.link_owner('Production', '1000', 'bob')", as: "appstore_operator")
            _ = try await ledger.told()
            try await ledger.run("SELECT appstore.unlink_owner('Production', '1000')", as: "appstore_operator")
            let alias = try await ForgetScene.forget(in: ledger)
            let told = try await ledger.told()
            #expect(told.contains("user.forgotten \(ForgetScene.name)"))
            #expect(told.filter { $0.contains(ForgetScene.name) }.count == 1)
            #expect(try await ForgetScene.tables(in: ledger) == ["feed_from_1"])
            #expect(
                try await ledger.lines(
                    "SELECT DISTINCT type FROM appstore.feed WHERE \(ForgetScene.name) IN (user_id, from_user_id) OR data::text LIKE '%alice%'"
                )
                    == ["user.forgotten"]
            )
            #expect(try await ledger.lines("SELECT (count(*) > 2)::text FROM appstore.feed WHERE user_id = \(alias)") == ["true"])
        }
    }

    /// The step reads the name, and is committed while the user is being forgotten.
    @Test func `a step of the sequencer in flight does not keep a forgotten name`() async throws {
        try await ForgetScene.with { ledger in
            try await ledger.run("SELECT appstore.enable_feed(with_past => true)", as: "appstore_operator")
            _ = try await ForgetScene.forget(in: ledger, beside: { _ = try await $0.execute("SELECT appstore.sequence_feed()") })
            _ = try await ledger.told()
            #expect(
                try await ledger.lines("SELECT DISTINCT type FROM appstore.feed WHERE user_id = \(ForgetScene.name)") == ["user.forgotten"]
            )
        }
    }

    /// `FEED_SEEDS`: how many; 3 by default.
    @Test func `the last access that was told of each user is the access of now, after any changes`() async throws {
        let seeds = ProcessInfo.processInfo.environment["FEED_SEEDS"].flatMap(Int.init) ?? 3
        for seed in 0..<seeds {
            try await Self.with { ledger in
                var random = SeededGenerator(seed: UInt64(seed))
                let orders = (0..<3).map { _ in random.uuid() }
                for step in 0..<60 {
                    try await change(ledger, orders, step, &random)
                    if Int.random(in: 0..<3, using: &random) == 0 { _ = try await ledger.told() }
                }
                _ = try await ledger.told()
                #expect(try await ledger.database.feedViolations() == [], "seed \(seed)")
            }
        }
    }

    private func change(_ ledger: TestLedger, _ orders: [UUID], _ step: Int, _ random: inout SeededGenerator) async throws {
        let contract = ["1000", "2000"].randomElement(using: &random) ?? "1000"
        let user = ["anna", "berta", "carla"].randomElement(using: &random) ?? "anna"
        switch Int.random(in: 0..<6, using: &random) {
        case 0:
            try await ledger.run(
                "SELECT appstore.link_owner('Production', \(contract), \(user)) FROM appstore.contracts WHERE original_transaction_id = \(contract)"
            )
        case 1:
            try await ledger.run(
                "SELECT appstore.unlink_owner('Production', \(contract)) FROM appstore.ownership_claims WHERE original_transaction_id = \(contract) AND kind = 'link' LIMIT 1"
            )
        case 2:
            guard let order = orders.randomElement(using: &random) else { return }
            // An order belongs to one user.
            try await ledger.makeOrder(order, user: "user of \(order)")
        default:
            let period = Int.random(in: 0..<4, using: &random)
            let charge = Charge("\(contract)\(period)", onDay: Self.today - 60 + Double(period) * 25).with {
                $0.contract = contract
                $0.token = period < 3 ? orders[period] : nil
                $0.product = ["pro.monthly", "basic.monthly"].randomElement(using: &random) ?? "pro.monthly"
                $0.signedDay = Self.today - 1 + Double(step) / 1000
                if Int.random(in: 0..<4, using: &random) == 0 { $0.revocationDay = Self.today - 1 }
                if Int.random(in: 0..<4, using: &random) == 0 { $0.isUpgraded = true }
            }
            try await ledger.put(charge)
        }
    }
}

extension TestLedger {
    /// Takes steps of the sequencer, and returns what they told, sorted: the type, the users and the state.
    func told() async throws -> [String] {
        let last = try await lines("SELECT position::text FROM appstore.feed_head")
        try await database.sequenceFeed()
        return try await lines(
            """
            SELECT concat_ws(' ', type, from_user_id, user_id, data ->> 'entitlement', data ->> 'active', data ->> 'why', data ->> 'status',
                             data #>> '{evidence,kind}')
            FROM appstore.feed WHERE position > \(last[0])::bigint ORDER BY 1
            """
        )
    }
}
