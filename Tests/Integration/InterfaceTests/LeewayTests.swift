import Foundation
import InboxTesting
import Postgres
import PostgresTesting
import Testing

/// Access after the end of a period that will renew, while nothing is heard of the renewal.
struct LeewayTests {
    /// A ledger in which a user bought a month on day 0, of which Apple said on day 1 whether it renews.
    private static func with(
        _ leeway: String? = "2 hours",
        willRenew: Bool? = true,
        _ body: (TestLedger) async throws -> Void
    ) async throws {
        try await TestLedger.with { ledger in
            let order = UUID()
            try await ledger.makeOrder(order, user: "anna")
            try await ledger.put(Charge("1000", onDay: 0, token: order))
            try await ledger.put(Renewal(1, signedDay: 1, willRenew: willRenew))
            if let leeway { try await ledger.setLeeway(leeway) }
            try await body(ledger)
        }
    }

    @Test func `a period that will renew is active until the leeway after its end is over`() async throws {
        try await Self.with { ledger in
            let access = try await ledger.access(atHours: -1, 0, 1.99, 2)
            #expect(access == ["t active t 0", "t leeway t 0", "t leeway t 0", "f expired t 0"])
        }
    }

    @Test func `by default access ends with the period`() async throws {
        try await Self.with(nil) { ledger in
            let access = try await ledger.access(atHours: -0.01, 0)
            #expect(access == ["t active t 0", "f expired t 0"])
            #expect(try await ledger.lines("SELECT leeway::text FROM appstore.access_settings") == ["00:00:00"])
        }
    }

    @Test(arguments: [(false, "f"), (nil, "?")])
    func `a period that does not renew, or of which that is unknown, ends at its end`(willRenew: Bool?, shown: String) async throws {
        try await Self.with(willRenew: willRenew) { ledger in
            let access = try await ledger.access(atHours: -1, 0)
            #expect(access == ["t active \(shown) 0", "f expired \(shown) 0"])
        }
    }

    @Test(arguments: [(2, "f expired t 0"), (3, "f billing_retry t 0"), (5, "f refunded t 0")] as [(Int32, String)])
    func `a later status ends it at once`(status: Int32, access: String) async throws {
        try await Self.with { ledger in
            try await ledger.put(Renewal(status, signedDay: 30.01))
            #expect(try await ledger.access(atHours: 0.5) == [access])
        }
    }

    @Test func `after a grace period there is none`() async throws {
        try await Self.with { ledger in
            try await ledger.put(Renewal(4, signedDay: 30, graceEndDay: 31))
            #expect(try await ledger.access(atHours: 1) == ["t grace_period t 24"])
            #expect(try await ledger.access(atHours: 24) == ["f billing_retry t 24"])
        }
    }

    @Test func `a refund and an upgrade end it`() async throws {
        try await Self.with { ledger in
            let charge = Charge("1000", onDay: 0)
            try await ledger.put(charge.with { ($0.signedDay, $0.isUpgraded) = (2, true) })
            #expect(try await ledger.access(atHours: 1) == ["f expired t 0"])
            try await ledger.put(charge.with { ($0.signedDay, $0.revocationDay) = (30.02, 29.99) })
            #expect(try await ledger.access(atHours: 1) == ["f refunded t -0.24"])
        }
    }

    @Test func `the renewal ends it, and the next period has one of its own`() async throws {
        try await Self.with { ledger in
            try await ledger.put(Charge("1001", onDay: 30))
            #expect(try await ledger.access(atHours: 1) == ["t active t 720"])
            #expect(try await ledger.access(atHours: 721) == ["t leeway t 720"])
        }
    }

    @Test func `what is bought once has none`() async throws {
        try await TestLedger.with { ledger in
            let order = UUID()
            try await ledger.setLeeway("2 hours")
            try await ledger.makeOrder(order, user: "anna", product: "season")
            try await ledger.put(Charge("season", "Non-Renewing Subscription", "3000", onDay: 0, token: order))
            try await ledger.run("INSERT INTO appstore.products VALUES ('com.example.app', 'season', 'season', 30)")
            #expect(try await ledger.access(atHours: 0) == ["f expired f 0"])
        }
    }

    @Test func `the API, a user's page, a timeline and the search say the same`() async throws {
        try await TestLedger.with { ledger in
            let (order, now) = (UUID(), Self.now)
            try await ledger.makeOrder(order, user: "anna")
            try await ledger.put(Charge("1000", onDay: now - 31, token: order).with { $0.endDay = now - 1.0 / 24 })
            try await ledger.put(Renewal(1, signedDay: now - 30))
            let key = try await ledger.database.makeAPIKey()
            try await ledger.run(
                """
                INSERT INTO appstore.outcomes (event_id, run, result, source, attempts, received_at, settled_at, environment, original_transaction_id)
                VALUES (1, 1, 'applied', 'notification_v2', 1, now(), now(), 'Production', '1000')
                """
            )
            for (leeway, isActive, end, why) in [
                ("2 hours", "true", "access_will_end", "leeway"), ("0", "false", "access_ended", "expired"),
            ] {
                try await ledger.setLeeway(leeway)
                let said = try await ledger.lines(
                    """
                    SELECT concat_ws(' ', 'entitlements', active, why) FROM appstore.entitlements
                    UNION ALL SELECT concat_ws(' ', 'api', active, why, ends_at < now()) FROM appstore.api_entitlements(\(key), 'Production', 'anna')
                    UNION ALL SELECT concat_ws(' ', 'api', active, ends_at < now()) FROM appstore.api_subscription(\(key), 'Production', '1000')
                    UNION ALL SELECT concat_ws(' ', 'page', e ->> 'active', e ->> 'why')
                              FROM jsonb_array_elements(appstore.explain_customer('anna') -> 'entitlements') AS e
                    UNION ALL SELECT concat_ws(' ', 'page', c ->> 'active') FROM jsonb_array_elements(appstore.explain_customer('anna') -> 'contracts') AS c
                    UNION ALL SELECT concat_ws(' ', 'search', is_active) FROM appstore.find_events(only_contract => '1000')
                    UNION ALL SELECT concat_ws(' ', what, detail) FROM appstore.timeline('Production', '1000') WHERE what LIKE 'access%'
                    """
                )
                let short = String(isActive.prefix(1))
                #expect(
                    said == [
                        "entitlements \(short) \(why)", "api \(short) \(why) t", "api \(short) t", "page \(isActive) \(why)",
                        "page \(isActive)",
                        "search \(short)", "\(end) \(why)",
                    ]
                )
            }
        }
    }

    @Test func `a leeway is 0 to 72 hours, and each change of it is in the audit`() async throws {
        try await TestLedger.with { ledger in
            for leeway in ["-1 second", "72 hours 1 second", "1 month", nil] {
                let error = await #expect(throws: PostgresError.self) {
                    try await ledger.run("SELECT appstore.set_leeway(\(leeway)::interval)", as: "appstore_operator")
                }
                #expect(error?.sqlState?.rawValue == "22023", "\(leeway ?? "null")")
            }
            try await ledger.setLeeway("1 day")
            try await ledger.setLeeway("24 hours")
            #expect(try await ledger.lines("SELECT leeway::text FROM appstore.access_settings") == ["24:00:00"])
            #expect(
                try await ledger.lines("SELECT concat_ws(' ', actor, details ->> 'was', details ->> 'leeway') FROM appstore.audit_log") == [
                    "appstore_operator 00:00:00 24:00:00"
                ]
            )
        }
    }

    @Test func `the feed tells the leeway at the end of the period, and the end when it is over`() async throws {
        try await TestLedger.with { ledger in
            try await ledger.run("SELECT appstore.enable_feed()", as: "appstore_operator")
            try await ledger.setLeeway("2 seconds")
            let order = UUID()
            try await ledger.makeOrder(order, user: "anna")
            let now = Self.now
            try await ledger.run(Renewal(1, signedDay: now - 1).statement)
            try await ledger.put(Charge("1000", onDay: now - 30, token: order).with { $0.endDay = now + 2.0 / 86_400 })
            var told: [String] = []
            try await eventually("the end is told") {
                told += try await ledger.told().filter { $0.hasPrefix("access.changed") }
                return told.last == "access.changed anna pro.monthly false expired"
            }
            #expect(
                told == [
                    "access.changed anna pro.monthly true active", "access.changed anna pro.monthly true leeway",
                    "access.changed anna pro.monthly false expired",
                ]
            )
            #expect(
                try await ledger.lines(
                    """
                    SELECT (f.occurred_at - c.access_until)::text FROM appstore.feed AS f, appstore.contracts AS c
                    WHERE f.type = 'access.changed' ORDER BY f.position DESC LIMIT 2
                    """
                ) == ["00:00:02", "00:00:00"]
            )
            #expect(try await ledger.database.feedViolations() == [])
        }
    }

    @Test func `the feed tells what a change of the leeway gives and takes, and no other contract`() async throws {
        try await TestLedger.with { ledger in
            try await ledger.run("SELECT appstore.enable_feed()", as: "appstore_operator")
            let now = Self.now
            for (contract, hours, willRenew) in [("1000", -1.0, true), ("2000", 1, true), ("3000", -3, true), ("4000", -1, false)] {
                let order = UUID()
                try await ledger.makeOrder(order, user: "user \(contract)")
                try await ledger.put(
                    Charge(contract, onDay: now - 30, token: order).with { ($0.contract, $0.endDay) = (contract, now + hours / 24) }
                )
                var renewal = Renewal(1, signedDay: now - 1, willRenew: willRenew)
                renewal.contract = contract
                try await ledger.put(renewal)
            }
            _ = try await ledger.told()
            for (leeway, access) in [
                ("2 hours", "true leeway"), ("30 minutes", "false expired"), ("90 minutes", "true leeway"), ("0", "false expired"),
            ] {
                try await ledger.setLeeway(leeway)
                #expect(try await ledger.lines("SELECT ref FROM appstore.tells") == ["1000"])
                #expect(try await ledger.told() == ["access.changed user 1000 pro.monthly \(access)"])
                #expect(try await ledger.database.feedViolations() == [])
            }
            try await ledger.setLeeway("2 hours")
            var renewal = Renewal(1, signedDay: now, willRenew: false)
            renewal.contract = "1000"
            try await ledger.put(renewal)
            #expect(try await ledger.told() == [])
        }
    }

    /// Now, in days after 2026-01-01.
    private static var now: Double { (Date.now.timeIntervalSince1970 - 1_767_225_600) / 86_400 }
}

extension TestLedger {
    fileprivate func setLeeway(_ leeway: String) async throws {
        try await run("SELECT appstore.set_leeway(\(leeway)::interval)", as: "appstore_operator")
    }

    /// `active why will-renew until`, at hours after day 30; until in hours after it.
    fileprivate func access(atHours hours: Double...) async throws -> [String] {
        try await lines(
            """
            SELECT concat_ws(' ', active, why, coalesce(left(will_renew::text, 1), '?'), round(extract(epoch FROM until - \(timestamp(30))) / 3600, 2)::float8)
            FROM unnest(\(hours)) WITH ORDINALITY AS at (hour, place)
            CROSS JOIN LATERAL appstore.entitlements_at(\(timestamp(30)) + at.hour * interval '1 hour') ORDER BY at.place
            """
        )
    }
}
