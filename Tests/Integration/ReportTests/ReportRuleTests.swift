import AppStore
import Foundation
import InboxTesting
import Ledger
import LedgerStore
import LedgerTesting
import Postgres
import Testing

/// Rules that the model does not have: rates, grace periods as the worker stores them, today.
struct ReportRuleTests {
    @Test func `figures in US dollars follow the rates that the operator writes`() async throws {
        let scene = try await ReportScene.make(lives: 0, seed: 1)
        var charge = Charge(
            transaction_id: "1",
            original_transaction_id: "1",
            period: "1",
            bundle_id: "com.example.one",
            product_id: "pro.monthly",
            reason: "PURCHASE",
            start: 1_704_067_200,
            end: 1_706_659_200
        )
        (charge.currency, charge.price) = ("EUR", 10_000)
        (charge.revoked_at, charge.revocation_percentage) = (1_705_000_000, 25_000)
        try await scene.store([charge])
        let prices: Statement = """
            SELECT concat_ws(' ', round(price_in_usd, 4), round(purchase_price_in_usd, 4), round(price_in_purchased_currency, 4))
            FROM appstore_reports.transactions
            """
        let mrr: Statement = "SELECT concat_ws(' ', mrr, coalesce(mrr_usd, -1)) FROM appstore_reports.mrr('2024-01-05')"
        #expect(try await scene.database.lines(prices) == ["7.5000"])
        #expect(try await scene.database.lines(mrr) == ["10.00 -1"])
        _ = try await scene.database.withConnection(user: "appstore_operator") { connection in
            try await connection.execute(
                "INSERT INTO appstore.fx_rates VALUES ('EUR', '2023-12-01', 1.1), ('EUR', '2024-01-04', 1.2), ('EUR', '2024-02-01', 9)"
            )
        }
        #expect(try await scene.database.lines(prices) == ["8.2500 11.0000 7.5000"])
        #expect(try await scene.database.lines(mrr) == ["10.00 12.00"])
    }

    @Test(arguments: [true, false])
    func `the end of a grace period is kept with its effect, whatever the register says later`(isPlain: Bool) async throws {
        let database = try await InboxDatabase.make()
        let pool = try database.pool(user: "appstore_worker")
        let charge = Facts.Charge("1000", onDay: 0)
        let effect = Effect(
            key: EffectKey(environment: .production, kind: .gracePeriodStarted, subject: UUID().uuidString),
            occurredAt: Facts.timestamp(Facts.day(30)),
            originalTransactionID: charge.contract,
            transactionID: isPlain ? charge.id : nil,
            productID: charge.product,
            gracePeriodExpiresDate: Facts.timestamp(Facts.day(46))
        )
        // The first event makes the contract, so that the second one is plain where it names the charge.
        for (day, status, effects) in [(0.0, Status.active, []), (30, .billingGracePeriod, [effect]), (47, .billingRetry, [])] {
            let event = Facts.event(
                .random(in: 1...(.max)),
                uuid: "notification \(day)",
                transaction: try charge.with { $0.signedDay = day }.fact(),
                subscription: Facts.subscription(charge.contract, signedDate: Facts.day(day), status: status),
                effects: effects
            )
            _ = try await pool.withTransaction { try await LedgerMerger.merge(BatchFold([event]), in: $0) }
        }
        await pool.close()
        let row = try await database.lines(
            """
            SELECT concat_ws('|', store_transaction_id, grace_period_end_time, effective_end_time, billing_issues_detected_at IS NOT NULL)
            FROM appstore_reports.transactions
            """
        )
        #expect(row == ["1000|2026-02-16 00:00:00|2026-02-16 00:00:00|\(isPlain ? "t" : "f")"])
        let active = try await database.lines(
            "SELECT concat_ws(' ', day, subscriptions, in_grace) FROM appstore_reports.subscriptions_daily('2026-01-30', '2026-02-16') WHERE day IN ('2026-01-30', '2026-01-31', '2026-02-15', '2026-02-16')"
        )
        #expect(active == ["2026-01-30 1 0", "2026-01-31 1 1", "2026-02-15 1 1"])
    }

    @Test func `what lasts is flagged, and what has not happened does not count`() async throws {
        let scene = try await ReportScene.make(lives: 0, seed: 1)
        let now = Int(Date().timeIntervalSince1970)
        var trial = Charge(
            transaction_id: "1",
            original_transaction_id: "1",
            period: "1",
            bundle_id: "com.example.one",
            product_id: "pro.monthly",
            reason: "PURCHASE",
            start: now - 86_400,
            end: now + 6 * 86_400
        )
        trial.offer_discount_type = "FREE_TRIAL"
        var paid = trial
        (paid.transaction_id, paid.original_transaction_id, paid.period, paid.offer_discount_type) = ("2", "2", "2", nil)
        (paid.start, paid.end) = (now - 3_600, now + 29 * 86_400)
        // Apple charges up to a day before the period begins.
        var (renewal, bought) = (paid, paid)
        (renewal.transaction_id, renewal.period, renewal.reason) = ("3", "3", "RENEWAL")
        (bought.transaction_id, bought.original_transaction_id, bought.period) = ("4", "4", "4")
        (renewal.start, renewal.end, bought.start) = (now + 3_600, now + 30 * 86_400, now + 3_600)
        try await scene.store([trial, paid, renewal, bought])
        func lines(_ query: String) async throws -> [String] { try await scene.database.lines("\(unsafeRaw: query)") }
        #expect(
            try await lines("SELECT concat_ws(' ', subscriptions, trials, is_incomplete) FROM appstore_reports.active_subscriptions()")
                == ["1 1 t"]
        )
        let today = "(now() AT TIME ZONE 'UTC')::date"
        #expect(
            try await lines(
                "SELECT concat_ws(' ', sum(trials), sum(converted), sum(pending), bool_and(is_incomplete)) FROM appstore_reports.trials(\(today) - 2, \(today))"
            ) == ["1 0 1 t"]
        )
        #expect(
            try await lines(
                "SELECT concat_ws(' ', sum(new_subscriptions), sum(expirations)) FROM appstore_reports.movement(\(today) - 2, \(today) + 60)"
            ) == ["1 0"]
        )
        #expect(
            try await lines(
                "SELECT concat_ws(' ', sum(renewals), sum(churned), sum(net)) FROM appstore_reports.movement(\(today) - 2, \(today) + 60)"
            ) == ["0 0 1"]
        )
        #expect(try await lines("SELECT concat_ws(' ', sum(cohort_size), sum(subscriptions)) FROM appstore_reports.retention()") == ["1 1"])
    }

    @Test func `the first charge that is known of an older contract is neither a new subscription nor a cohort`() async throws {
        let scene = try await ReportScene.make(lives: 0, seed: 1)
        let (month, start) = (30 * 86_400, 1_704_067_200)
        let known = (0..<2).map { place in
            Charge(
                transaction_id: "2\(place)",
                original_transaction_id: "1",
                period: "\(place)",
                bundle_id: "com.example.one",
                product_id: "pro.monthly",
                reason: "RENEWAL",
                start: start + place * month,
                end: start + (place + 1) * month
            )
        }
        try await scene.store(known)
        let movement: Statement = """
            SELECT concat_ws(' ', sum(new_subscriptions), sum(first_known), sum(renewals), sum(expirations), sum(net))
            FROM appstore_reports.movement('2024-01-01', '2024-06-30')
            """
        #expect(try await scene.database.lines(movement) == ["0 1 1 2 0"])
        #expect(try await scene.database.lines("SELECT product_identifier FROM appstore_reports.retention()") == [])
    }

    /// What Apple is not known to sign.
    @Test(arguments: [(-5, "2.00 0 0.00"), (3, "0.00 1 2.00")])
    func `no more seats are refunded than were bought`(refunded: Int, figures: String) async throws {
        let scene = try await ReportScene.make(lives: 0, seed: 1)
        var group = Self.month("1", from: 1_704_067_200)
        (group.isGroup, group.quantity, group.price, group.refundedSeats) = (true, 2, 2_000, refunded)
        try await scene.store([group])
        let found: Statement = """
            SELECT concat_ws(' ', m.mrr, r.refunded, r.refunded_amount)
            FROM appstore_reports.mrr('2024-01-05') AS m, appstore_reports.refunds('2024-01-01', '2024-01-31') AS r
            """
        #expect(try await scene.database.lines(found) == [figures])
    }

    @Test func `seats that are added without the offer of a group are MRR without a subscription`() async throws {
        let scene = try await ReportScene.make(lives: 0, seed: 1)
        var group = Self.month("1", from: 1_704_067_200)
        (group.isGroup, group.quantity, group.price, group.isMarked) = (true, 5, 10_000, true)
        (group.offer_type, group.offer_identifier) = (3, "SPRING")
        var added = group
        (added.transaction_id, added.period, added.start, added.offer_type, added.offer_identifier) = ("2", "2", 1_704_500_000, nil, nil)
        try await scene.store([group, added])
        #expect(
            try await scene.database.lines(
                "SELECT concat_ws(' ', value, subscriptions, mrr) FROM appstore_reports.mrr('2024-01-20', 'offer')"
            ) == ["SPRING 1 10.00", "none 0 10.00"]
        )
        #expect(
            try await scene.database.lines("SELECT value FROM appstore_reports.active_subscriptions('2024-01-20', 'offer')") == ["SPRING"]
        )
    }

    /// Apple tells of an extension with one of the transactions.
    @Test(arguments: [0, 1])
    func `a group is one subscription while only one of its parts is known to be extended`(extended: Int) async throws {
        let scene = try await ReportScene.make(lives: 0, seed: 1)
        var group = Self.month("1", from: 1_704_067_200)
        (group.isGroup, group.quantity, group.price, group.isMarked) = (true, 5, 10_000, true)
        var added = group
        (added.transaction_id, added.period, added.start) = ("2", "2", 1_704_500_000)
        var parts = [group, added]
        parts[extended].end = (group.end ?? 0) + 10 * 86_400
        try await scene.store(parts)
        let found = ["2024-01-20", "2024-02-05"].map { day in
            "SELECT concat_ws(' ', subscriptions, mrr) FROM appstore_reports.mrr('\(day)')"
        }
        #expect(
            try await scene.database.lines("\(unsafeRaw: found.joined(separator: " UNION ALL "))") == ["1 20.00", "1 10.00"]
        )
    }

    @Test func `prices that no number of 64 bits adds up to are reported`() async throws {
        let scene = try await ReportScene.make(lives: 0, seed: 1)
        let groups = ["1", "2"].map { id in
            var group = Self.month(id, from: 1_704_067_200)
            group.original_transaction_id = id
            (group.isGroup, group.quantity, group.price, group.refundedSeats) = (true, 4, .max - 3, 1)
            return group
        }
        var refunded = Self.month("3", from: 1_704_067_200)
        (refunded.original_transaction_id, refunded.price, refunded.revoked_at) = ("3", .max, 1_705_000_000)
        try await scene.store(groups + [refunded])
        #expect(
            try await scene.database.lines("SELECT concat_ws(' ', subscriptions, mrr) FROM appstore_reports.mrr('2024-01-20')")
                == ["2 13835058055282163.71"]
        )
        let revenue: Statement = "SELECT concat_ws(' ', refunded, revenue) FROM appstore_reports.refunds('2024-01-01', '2024-01-31')"
        #expect(try await scene.database.lines(revenue) == ["3 13835058055282163.71"])
        let rows: Statement = "SELECT count(purchase_price_in_purchased_currency)::text FROM appstore_reports.transactions"
        #expect(try await scene.database.lines(rows) == ["3"])
    }

    @Test func `what a customer chose before a commitment began is not of it, whatever the lengths of months`() async throws {
        let scene = try await ReportScene.make(lives: 0, seed: 1)
        // 31 August to 31 October, with renewal turned off the day before the commitment was bought.
        var before = Self.month("1", from: 1_693_440_000, to: 1_698_710_400)
        before.toggles = [.init(at: 1_698_710_400 - 43_200, willRenew: false)]
        var first = Self.month("2", from: 1_698_710_400, to: 1_701_302_400)
        var second = Self.month("3", from: 1_701_302_400, to: 1_703_980_800)
        second.reason = "RENEWAL"
        let until = first.start + 365 * 86_400
        first.commitment = .init(month: 1, until: until, began: first.start, isRenewal: false)
        second.commitment = .init(month: 2, until: until, began: first.start, isRenewal: false)
        try await scene.store([before, first, second])
        let status: Statement = "SELECT status FROM appstore_reports.renewal_status_at('2023-12-05')"
        #expect(try await scene.database.lines(status) == ["set_to_renew"])
    }

    private static func month(_ id: String, from start: Moment, to end: Moment? = nil) -> Charge {
        Charge(
            transaction_id: id,
            original_transaction_id: "1",
            period: id,
            bundle_id: "com.example.one",
            product_id: "pro.monthly",
            reason: "PURCHASE",
            currency: "USD",
            start: start,
            end: end ?? start + 30 * 86_400
        )
    }

    @Test func `the time zone of the session changes nothing`() async throws {
        let scene = try await ReportScene.make(lives: 60, seed: Seed.current)
        func state(_ zone: String) async throws -> [String] {
            try await scene.database.withConnection { connection in
                try await connection.execute("SELECT set_config('TimeZone', \(zone), false)")
                return try await connection.query(
                    """
                    SELECT to_jsonb(r)::text FROM appstore_reports.mrr_by_month('2023-01-01', '2025-12-01') AS r
                    UNION ALL SELECT to_jsonb(r)::text FROM appstore_reports.churn('2023-01-01', '2025-12-01', every => 'week') AS r
                    UNION ALL SELECT to_jsonb(r)::text FROM appstore_reports.trials('2023-01-01', '2025-12-01') AS r
                    UNION ALL SELECT to_jsonb(r)::text FROM appstore_reports.refunds('2023-01-01', '2025-12-01') AS r
                    UNION ALL SELECT to_jsonb(r)::text FROM appstore_reports.retention() AS r
                    UNION ALL SELECT to_jsonb(r)::text FROM appstore_reports.transactions AS r
                    """
                ).map { try $0.decode(0, as: String.self) }.sorted()
            }
        }
        #expect(try await state("UTC") == state("Asia/Tokyo"))
    }
}
