import Foundation
import InboxTesting
import Postgres
import Testing

/// Who may use what, until when, and why (not).
struct EntitlementTests {
    let token = UUID()

    /// The books of a user who bought a month on day 0.
    private func withSubscriber(_ body: (Books) async throws -> Void) async throws {
        try await Books.with { books in
            try await books.makeOrder(token, user: "anna")
            try await books.put(Charge("1000", onDay: 0, token: token))
            try await body(books)
        }
    }

    @Test func `a subscription gives its product until its period ends`() async throws {
        try await withSubscriber { books in
            #expect(try await books.entitlements(onDay: 29.9) == ["anna pro.monthly yes active 30 renews?"])
            #expect(try await books.entitlements(onDay: 30) == ["anna pro.monthly no expired 30 renews?"])
            try await books.put(Renewal(1, signedDay: 1, willRenew: false))
            #expect(try await books.entitlements(onDay: 2) == ["anna pro.monthly yes active 30 ends"])
        }
    }

    @Test func `the view shows this moment`() async throws {
        try await withSubscriber { books in
            try await books.put(Charge("1001", onDay: 30).with { $0.endDay = 36_500 })
            let shown = try await books.lines(
                """
                SELECT concat_ws(' ', environment, user_id, product_id, entitlement, active, why, in_grace, original_transaction_id, bundle_id)
                FROM appstore.entitlements
                """
            )
            #expect(shown == ["Production anna pro.monthly pro.monthly t active f 1000 com.example.app"])
        }
    }

    @Test func `grace goes on while Apple retries, and billing retry does not`() async throws {
        try await withSubscriber { books in
            try await books.put(Renewal(4, signedDay: 30, graceEndDay: 46))
            #expect(try await books.entitlements(onDay: 29) == ["anna pro.monthly yes active 46 renews"])
            #expect(try await books.entitlements(onDay: 31) == ["anna pro.monthly yes grace_period 46 in grace renews"])
            #expect(try await books.entitlements(onDay: 46) == ["anna pro.monthly no billing_retry 46 renews"])
            try await books.put(Renewal(3, signedDay: 46))
            #expect(try await books.entitlements(onDay: 47) == ["anna pro.monthly no billing_retry 30 renews"])
            try await books.put(Renewal(2, signedDay: 90, willRenew: false))
            #expect(try await books.entitlements(onDay: 91) == ["anna pro.monthly no expired 30 ends"])
        }
    }

    @Test func `a statement about an earlier period explains nothing of the current one`() async throws {
        try await withSubscriber { books in
            try await books.put(Renewal(3, signedDay: 31))
            try await books.put(Charge("1001", onDay: 60))
            #expect(try await books.entitlements(onDay: 61) == ["anna pro.monthly yes active 90 renews"])
            #expect(try await books.entitlements(onDay: 90) == ["anna pro.monthly no expired 90 renews"])
        }
    }

    @Test(arguments: [(false, false, "refunded"), (true, false, "revoked"), (false, true, "upgraded")])
    func `what was taken back says how`(isShared: Bool, isUpgraded: Bool, why: String) async throws {
        try await Books.with { books in
            let charge = Charge("1000", onDay: 0).with { $0.isShared = isShared }
            try await books.put(charge)
            try await books.submit("1000", by: "anna", onDay: 1)
            #expect(try await books.entitlements(onDay: 11) == ["anna pro.monthly yes active 30 renews?"])
            try await books.put(charge.with { ($0.signedDay, $0.revocationDay, $0.isUpgraded) = (10, 10, isUpgraded ? true : nil) })
            #expect(try await books.entitlements(onDay: 11) == ["anna pro.monthly no \(why) 10 renews?"])
        }
    }

    @Test func `a renewal that is refunded before it begins leaves the time that was paid, and then says refunded`() async throws {
        try await withSubscriber { books in
            try await books.put(Charge("1001", onDay: 30).with { ($0.signedDay, $0.revocationDay) = (29.5, 29.5) })
            #expect(try await books.entitlements(onDay: 29.9) == ["anna pro.monthly yes active 30 renews?"])
            #expect(try await books.entitlements(onDay: 31) == ["anna pro.monthly no refunded 30 renews?"])
        }
    }

    @Test func `Apple's status revoked is enough`() async throws {
        try await withSubscriber { books in
            try await books.put(Renewal(5, signedDay: 12, willRenew: false))
            #expect(try await books.entitlements(onDay: 13) == ["anna pro.monthly no refunded 12 ends"])
        }
    }

    @Test func `what is bought once is for ever, until it is refunded`() async throws {
        try await Books.with { books in
            let charge = Charge("atlas", "Non-Consumable", "2000", onDay: 0, token: token)
            try await books.makeOrder(token, user: "anna", product: "atlas")
            try await books.put(charge)
            #expect(try await books.entitlements(onDay: 9_999) == ["anna atlas yes active for ever ends"])
            try await books.put(charge.with { ($0.signedDay, $0.revocationDay) = (5, 5) })
            #expect(try await books.entitlements(onDay: 6) == ["anna atlas no refunded 5 ends"])
        }
    }

    @Test func `how long a non-renewing product lasts is the shop's to say`() async throws {
        try await Books.with { books in
            let charge = Charge("season", "Non-Renewing Subscription", "3000", onDay: 70, token: token)
            try await books.makeOrder(token, user: "anna", product: "season")
            try await books.put(charge)
            #expect(try await books.entitlements(onDay: 71) == ["anna season no duration_unknown ends"])
            try await books.run(
                "INSERT INTO appstore.products VALUES ('com.example.app', 'season', 'stadium', 90)",
                as: "appstore_operator"
            )
            #expect(try await books.entitlements(onDay: 159.9) == ["anna stadium yes active 160 ends"])
            #expect(try await books.entitlements(onDay: 160) == ["anna stadium no expired 160 ends"])
            try await books.run("UPDATE appstore.products SET days = NULL")
            #expect(try await books.entitlements(onDay: 9_999) == ["anna stadium yes active for ever ends"])
            try await books.put(charge.with { ($0.signedDay, $0.revocationDay) = (80, 80) })
            #expect(try await books.entitlements(onDay: 81) == ["anna stadium no refunded 80 ends"])
        }
    }

    @Test func `a day has 24 hours, wherever the session is`() async throws {
        try await Books.with { books in
            try await books.makeOrder(token, user: "anna", product: "season")
            try await books.put(Charge("season", "Non-Renewing Subscription", "3000", onDay: 70, token: token))
            try await books.run("INSERT INTO appstore.products VALUES ('com.example.app', 'season', 'season', 90)")
            let zones = ["UTC", "Europe/Berlin", "America/New_York"]
            for zone in zones {
                let seconds = try await books.database.withConnection { connection in
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

    @Test func `a product gives what the shop's table says, each for its own time`() async throws {
        try await withSubscriber { books in
            for entitlement in ["sync", "export"] {
                try await books.run("INSERT INTO appstore.products VALUES ('com.example.app', 'pro.monthly', \(entitlement), NULL)")
            }
            #expect(
                try await books.entitlements(onDay: 1) == ["anna export yes active 30 renews?", "anna sync yes active 30 renews?"]
            )
        }
    }

    @Test func `what is used up, and what is nobody's, entitles to nothing`() async throws {
        try await Books.with { books in
            try await books.makeOrder(token, user: "anna", product: "coins")
            try await books.put(
                Charge("coins", "Consumable", "4000", onDay: 0, token: token),
                Charge("1000", onDay: 0)
            )
            try await books.submit("4000", of: "4000", by: "anna", onDay: 0)
            #expect(try await books.lines("SELECT original_transaction_id FROM appstore.contracts ORDER BY 1") == ["1000", "4000"])
            #expect(try await books.entitlements(onDay: 1) == [])
        }
    }

    @Test func `a contract of which only the renewal is known gives nothing yet`() async throws {
        try await Books.with { books in
            try await books.put(Renewal(1, signedDay: 3))
            try await books.link(to: "anna", onDay: 4)
            #expect(try await books.entitlements(onDay: 5) == ["anna pro.monthly no purchase_unknown renews"])
        }
    }

    @Test func `Sandbox and Production do not mix, though their numbers be the same`() async throws {
        try await withSubscriber { books in
            try await books.put(Renewal(1, signedDay: 1))
            try await books.put(Charge("1000", onDay: 3, token: token).with { ($0.environment, $0.revocationDay) = ("Sandbox", 4) })
            let shown = try await books.lines(
                """
                SELECT concat_ws(' ', environment, user_id, active, why, coalesce(will_renew::text, '?'))
                FROM appstore.entitlements_at(\(timestamp(5))) ORDER BY 1
                """
            )
            #expect(shown == ["Production anna t active true", "Sandbox anna f refunded ?"])
        }
    }
}

extension Books {
    /// `user entitlement active why until-day grace renewal`, in the order of the alphabet.
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
