import Foundation
import InboxTesting
import Postgres
import Testing

/// The entitlements of users, until when, and why they ended.
struct EntitlementTests {
    let token = UUID()

    /// A ledger in which a user bought a month on day 0.
    private func withSubscriber(_ body: (TestLedger) async throws -> Void) async throws {
        try await TestLedger.with { ledger in
            try await ledger.makeOrder(token, user: "anna")
            try await ledger.put(Charge("1000", onDay: 0, token: token))
            try await body(ledger)
        }
    }

    @Test func `a subscription gives its product until its period ends`() async throws {
        try await withSubscriber { ledger in
            #expect(try await ledger.entitlements(onDay: 29.9) == ["anna pro.monthly yes active 30 renews?"])
            #expect(try await ledger.entitlements(onDay: 30) == ["anna pro.monthly no expired 30 renews?"])
            try await ledger.put(Renewal(1, signedDay: 1, willRenew: false))
            #expect(try await ledger.entitlements(onDay: 2) == ["anna pro.monthly yes active 30 ends"])
        }
    }

    @Test func `the view shows the entitlements of this moment`() async throws {
        try await withSubscriber { ledger in
            try await ledger.put(Charge("1001", onDay: 30).with { $0.endDay = 36_500 })
            let shown = try await ledger.lines(
                """
                SELECT concat_ws(' ', environment, user_id, product_id, entitlement, active, why, in_grace, original_transaction_id, bundle_id)
                FROM appstore.entitlements
                """
            )
            #expect(shown == ["Production anna pro.monthly pro.monthly t active f 1000 com.example.app"])
        }
    }

    @Test func `a grace period gives access, billing retry does not`() async throws {
        try await withSubscriber { ledger in
            try await ledger.put(Renewal(4, signedDay: 30, graceEndDay: 46))
            #expect(try await ledger.entitlements(onDay: 29) == ["anna pro.monthly yes active 46 renews"])
            #expect(try await ledger.entitlements(onDay: 31) == ["anna pro.monthly yes grace_period 46 in grace renews"])
            #expect(try await ledger.entitlements(onDay: 46) == ["anna pro.monthly no billing_retry 46 renews"])
            try await ledger.put(Renewal(3, signedDay: 46))
            #expect(try await ledger.entitlements(onDay: 47) == ["anna pro.monthly no billing_retry 30 renews"])
            try await ledger.put(Renewal(2, signedDay: 90, willRenew: false))
            #expect(try await ledger.entitlements(onDay: 91) == ["anna pro.monthly no expired 30 ends"])
        }
    }

    @Test func `a fact about an earlier period does not explain the end of the current one`() async throws {
        try await withSubscriber { ledger in
            try await ledger.put(Renewal(3, signedDay: 31))
            try await ledger.put(Charge("1001", onDay: 60))
            #expect(try await ledger.entitlements(onDay: 61) == ["anna pro.monthly yes active 90 renews"])
            #expect(try await ledger.entitlements(onDay: 90) == ["anna pro.monthly no expired 90 renews"])
        }
    }

    @Test(arguments: [(false, false, "refunded"), (true, false, "revoked"), (false, true, "upgraded")])
    func `a revoked purchase shows the reason`(isShared: Bool, isUpgraded: Bool, why: String) async throws {
        try await TestLedger.with { ledger in
            let charge = Charge("1000", onDay: 0).with { $0.isShared = isShared }
            try await ledger.put(charge)
            try await ledger.submit("1000", by: "anna", onDay: 1)
            #expect(try await ledger.entitlements(onDay: 11) == ["anna pro.monthly yes active 30 renews?"])
            try await ledger.put(charge.with { ($0.signedDay, $0.revocationDay, $0.isUpgraded) = (10, 10, isUpgraded ? true : nil) })
            #expect(try await ledger.entitlements(onDay: 11) == ["anna pro.monthly no \(why) 10 renews?"])
        }
    }

    @Test func `a renewal refunded before it begins keeps the paid period, which then ends as refunded`() async throws {
        try await withSubscriber { ledger in
            try await ledger.put(Charge("1001", onDay: 30).with { ($0.signedDay, $0.revocationDay) = (29.5, 29.5) })
            #expect(try await ledger.entitlements(onDay: 29.9) == ["anna pro.monthly yes active 30 renews?"])
            #expect(try await ledger.entitlements(onDay: 31) == ["anna pro.monthly no refunded 30 renews?"])
        }
    }

    @Test func `a non-consumable lasts for ever, until it is refunded`() async throws {
        try await TestLedger.with { ledger in
            let charge = Charge("atlas", "Non-Consumable", "2000", onDay: 0, token: token)
            try await ledger.makeOrder(token, user: "anna", product: "atlas")
            try await ledger.put(charge)
            #expect(try await ledger.entitlements(onDay: 9_999) == ["anna atlas yes active for ever ends"])
            try await ledger.put(charge.with { ($0.signedDay, $0.revocationDay) = (5, 5) })
            #expect(try await ledger.entitlements(onDay: 6) == ["anna atlas no refunded 5 ends"])
        }
    }

    @Test func `the shop's table decides how long a non-renewing product lasts`() async throws {
        try await TestLedger.with { ledger in
            let charge = Charge("season", "Non-Renewing Subscription", "3000", onDay: 70, token: token)
            try await ledger.makeOrder(token, user: "anna", product: "season")
            try await ledger.put(charge)
            #expect(try await ledger.entitlements(onDay: 71) == ["anna season no duration_unknown ends"])
            try await ledger.run(
                "INSERT INTO appstore.products VALUES ('com.example.app', 'season', 'stadium', 90)",
                as: "appstore_operator"
            )
            #expect(try await ledger.entitlements(onDay: 159.9) == ["anna stadium yes active 160 ends"])
            #expect(try await ledger.entitlements(onDay: 160) == ["anna stadium no expired 160 ends"])
            try await ledger.run("UPDATE appstore.products SET days = NULL")
            #expect(try await ledger.entitlements(onDay: 9_999) == ["anna stadium yes active for ever ends"])
            try await ledger.put(charge.with { ($0.signedDay, $0.revocationDay) = (80, 80) })
            #expect(try await ledger.entitlements(onDay: 81) == ["anna stadium no refunded 80 ends"])
        }
    }

    @Test func `a day has 24 hours in every time zone of the session`() async throws {
        try await TestLedger.with { ledger in
            try await ledger.makeOrder(token, user: "anna", product: "season")
            try await ledger.put(Charge("season", "Non-Renewing Subscription", "3000", onDay: 70, token: token))
            try await ledger.run("INSERT INTO appstore.products VALUES ('com.example.app', 'season', 'season', 90)")
            let zones = ["UTC", "Europe/Berlin", "America/New_York"]
            for zone in zones {
                let seconds = try await ledger.database.withConnection { connection in
                    _ = try await connection.execute("SELECT set_config('timezone', \(zone), false)")
                    let rows = try await connection.query(
                        "SELECT extract(epoch FROM until - \(timestamp(160)))::text AS seconds FROM appstore.entitlements"
                    )
                    return try rows.first?.decode("seconds", as: String.self)
                }
                #expect(seconds == "0.000000")
            }
        }
    }

    @Test func `a product gives the entitlements of the shop's table, each for its own duration`() async throws {
        try await withSubscriber { ledger in
            for entitlement in ["sync", "export"] {
                try await ledger.run("INSERT INTO appstore.products VALUES ('com.example.app', 'pro.monthly', \(entitlement), NULL)")
            }
            #expect(
                try await ledger.entitlements(onDay: 1) == ["anna export yes active 30 renews?", "anna sync yes active 30 renews?"]
            )
        }
    }

    @Test func `consumables and contracts without an owner give no entitlement`() async throws {
        try await TestLedger.with { ledger in
            try await ledger.makeOrder(token, user: "anna", product: "coins")
            try await ledger.put(
                Charge("coins", "Consumable", "4000", onDay: 0, token: token),
                Charge("1000", onDay: 0)
            )
            try await ledger.submit("4000", of: "4000", by: "anna", onDay: 0)
            #expect(try await ledger.lines("SELECT original_transaction_id FROM appstore.contracts ORDER BY 1") == ["1000", "4000"])
            #expect(try await ledger.entitlements(onDay: 1) == [])
        }
    }

    @Test func `a contract with only a known renewal gives no entitlement`() async throws {
        try await TestLedger.with { ledger in
            try await ledger.put(Renewal(1, signedDay: 3))
            try await ledger.link(to: "anna", onDay: 4)
            #expect(try await ledger.entitlements(onDay: 5) == ["anna pro.monthly no purchase_unknown renews"])
        }
    }

    @Test func `Sandbox and Production are separate, even with equal ids`() async throws {
        try await withSubscriber { ledger in
            try await ledger.put(Renewal(1, signedDay: 1))
            try await ledger.put(Charge("1000", onDay: 3, token: token).with { ($0.environment, $0.revocationDay) = ("Sandbox", 4) })
            let shown = try await ledger.lines(
                """
                SELECT concat_ws(' ', environment, user_id, active, why, coalesce(will_renew::text, '?'))
                FROM appstore.entitlements_at(\(timestamp(5))) ORDER BY 1
                """
            )
            #expect(shown == ["Production anna t active true", "Sandbox anna f refunded ?"])
        }
    }
}

extension TestLedger {
    /// `user entitlement active why until-day grace renewal`, sorted.
    fileprivate func entitlements(onDay day: Double) async throws -> [String] {
        try await lines(
            """
            SELECT concat_ws(' ', user_id, entitlement, CASE WHEN active THEN 'yes' ELSE 'no' END, why,
                             CASE WHEN until = 'infinity' THEN 'for ever'
                                  ELSE round(extract(epoch FROM until - \(timestamp(0))) / 86400, 2)::float8::text END,
                             CASE WHEN in_grace THEN 'in grace' END,
                             CASE will_renew WHEN true THEN 'renews' WHEN false THEN 'ends' ELSE 'renews?' END)
            FROM appstore.entitlements_at(\(timestamp(day))) ORDER BY 1
            """
        )
    }
}
