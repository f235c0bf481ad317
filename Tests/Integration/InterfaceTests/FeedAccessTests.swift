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
            #expect(try await ledger.told() == ["access.changed anna pro false owner_changed", "access.changed berta pro true active"])
            try await ledger.run("SELECT appstore.unlink_owner('Production', '1000')", as: "appstore_operator")
            #expect(try await ledger.told() == ["access.changed anna pro true active", "access.changed berta pro false owner_changed"])
            #expect(try await ledger.lines("SELECT count(DISTINCT id)::text FROM appstore.feed") == ["6"])
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
                    "SELECT DISTINCT type FROM appstore.feed WHERE user_id = \(ForgetScene.name) OR data::text LIKE '%alice%'"
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
                let differences = try await ledger.lines(
                    """
                    WITH told AS (
                        SELECT DISTINCT ON (environment, subject, user_id, data ->> 'entitlement') environment, subject, user_id, data
                        FROM appstore.feed WHERE type = 'access.changed'
                        ORDER BY environment, subject, user_id, data ->> 'entitlement', position DESC
                    )
                    SELECT coalesce(t::text, e::text) FROM told AS t FULL JOIN appstore.entitlements AS e
                        ON e.environment = t.environment AND e.original_transaction_id = t.subject AND e.user_id = t.user_id
                           AND e.entitlement = t.data ->> 'entitlement'
                    WHERE coalesce(e.active, false) <> coalesce((t.data ->> 'active')::boolean, false)
                       OR e.active AND (e.until, e.why) IS DISTINCT FROM ((t.data ->> 'until')::timestamptz, t.data ->> 'why')
                    """
                )
                #expect(differences == [], "seed \(seed)")
                #expect(try await ledger.lines("SELECT (count(DISTINCT id) = count(*))::text FROM appstore.feed") == ["true"])
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
    /// Takes steps of the sequencer, and returns what they told, sorted: the type, the user and the state.
    fileprivate func told() async throws -> [String] {
        let last = try await lines("SELECT position::text FROM appstore.feed_head")
        try await database.withConnection(user: "appstore_worker") { connection in
            while try await connection.query("SELECT s.has_more FROM appstore.sequence_feed() AS s")[0].decode("has_more") {}
        }
        return try await lines(
            """
            SELECT concat_ws(' ', type, user_id, data ->> 'entitlement', data ->> 'active', data ->> 'why', data ->> 'status')
            FROM appstore.feed WHERE position > \(last[0])::bigint ORDER BY 1
            """
        )
    }
}
