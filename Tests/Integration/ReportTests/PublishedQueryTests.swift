import Randomness
import Testing

/// Queries with the meaning of those that RevenueCat publishes for its exports, on the view, agree with the functions.
struct PublishedQueryTests {
    private static let paid = """
        NOT is_trial_period AND is_auto_renewable AND extract(epoch FROM end_time - start_time) > 0
        AND ownership_type <> 'FAMILY_SHARED' AND store <> 'promotional' AND is_sandbox <> 'true'
        """

    @Test(arguments: [Seed.current])
    func `active subscriptions, MRR and movement of the view's rows are those of the functions`(seed: UInt64) async throws {
        let scene = try await ReportScene.make(lives: 300, seed: seed, hasGroups: false)
        var random = SeededGenerator(seed: seed)
        for _ in 0..<10 {
            let date = Day(Day(containing: 1_680_307_200).number + Int.random(in: 0..<600, using: &random))
            let counted = try await scene.figures(
                """
                SELECT '\(date)', ARRAY[count(*)::numeric] FROM appstore_reports.transactions
                WHERE date(effective_end_time) > '\(date)' AND date(start_time) <= '\(date)' AND \(Self.paid)
                """
            )
            let active = try await scene.figures(
                "SELECT day, ARRAY[subscriptions::numeric] FROM appstore_reports.active_subscriptions('\(date)')"
            )
            #expect(differences(active, counted) == [], "seed \(seed)")
            try await compareMRR(at: date, in: scene, seed: seed)
        }
        let days = Period.days(200, from: Day(containing: 1_690_000_000))
        let (first, last) = (days[0].first, days[199].first)
        let published = try await scene.figures(Self.movement(first, last))
        let movement = try await scene.figures(
            """
            SELECT period, ARRAY[new_subscriptions + first_known, renewals, expirations, churned]::numeric[]
            FROM appstore_reports.movement('\(first)', '\(last)', every => 'day')
            """
        )
        #expect(differences(movement, published) == [], "seed \(seed)")
    }

    /// Their factors are rounded to some digits, and each product to a cent.
    private func compareMRR(at date: Day, in scene: ReportScene, seed: UInt64) async throws {
        let published = try await scene.figures(Self.mrr(date))
        let mrr = try await scene.figures(
            "SELECT coalesce(currency, '-'), ARRAY[subscriptions - without_price, mrr] FROM appstore_reports.mrr('\(date)')"
        )
        #expect(published.keys == mrr.keys)
        for (currency, figures) in published {
            let found = mrr[currency] ?? [0, 0]
            let tolerance = 0.006 * figures[0] + 0.0002 * figures[1]
            #expect(found[0] == figures[0] && abs(found[1] - figures[1]) <= tolerance, "seed \(seed), \(date), \(currency)")
        }
    }

    private static func mrr(_ date: Day) -> String {
        let span = "(end_time::date - start_time::date)"
        let exact = "28 / (extract(epoch FROM end_time - start_time) / 86400)"
        return """
            SELECT coalesce(purchased_currency, '-'),
                   ARRAY[count(purchase_price_in_purchased_currency), coalesce(sum((purchase_price_in_purchased_currency * CASE
                       WHEN is_in_intro_offer_period = 'true' OR product_duration IS NULL THEN CASE
                           WHEN \(span) <= 1 THEN 30 WHEN \(span) = 3 THEN 10 WHEN \(span) BETWEEN 6 AND 8 THEN 4
                           WHEN \(span) BETWEEN 12 AND 16 THEN 2 WHEN \(span) BETWEEN 27 AND 33 THEN 1 WHEN \(span) BETWEEN 58 AND 62 THEN 0.5
                           WHEN \(span) BETWEEN 88 AND 95 THEN 0.333333 WHEN \(span) BETWEEN 179 AND 185 THEN 0.1666666
                           WHEN \(span) BETWEEN 363 AND 375 THEN 0.08333 ELSE \(exact) END
                       WHEN product_duration = 'P1D' THEN 30 WHEN product_duration = 'P3D' THEN 10
                       WHEN product_duration IN ('P7D', 'P1W') THEN 4 WHEN product_duration = 'P2W' THEN 2
                       WHEN product_duration IN ('P4W', 'P1M') THEN 1 WHEN product_duration = 'P2M' THEN 0.5
                       WHEN product_duration = 'P3M' THEN 0.333333 WHEN product_duration = 'P6M' THEN 0.1666666
                       WHEN product_duration IN ('P12M', 'P1Y') THEN 0.08333 ELSE \(exact) END)::numeric(18, 2)), 0)]
            FROM appstore_reports.transactions
            WHERE effective_end_time IS NOT NULL AND date(effective_end_time) > '\(date)' AND date(start_time) <= '\(date)' AND \(paid)
            GROUP BY purchased_currency
            """
    }

    private static func movement(_ first: Day, _ last: Day) -> String {
        """
        WITH chosen AS (
            SELECT * FROM appstore_reports.transactions
            WHERE (date(start_time) BETWEEN '\(first)' AND '\(last)' OR date(effective_end_time) BETWEEN '\(first)' AND '\(last)') AND \(paid)
        ), began AS (
            SELECT date(start_time) AS day, count(*) FILTER (WHERE renewal_number = 1 OR is_trial_conversion) AS fresh,
                   count(*) FILTER (WHERE renewal_number > 1 AND is_trial_conversion = 'false') AS renewed
            FROM chosen GROUP BY 1
        ), ended AS (
            SELECT date(effective_end_time) AS day, count(*) AS n FROM chosen GROUP BY 1
        )
        SELECT coalesce(b.day, e.day), ARRAY[coalesce(b.fresh, 0), coalesce(b.renewed, 0), coalesce(e.n, 0),
                                             coalesce(e.n, 0) - coalesce(b.renewed, 0)]
        FROM began AS b FULL JOIN ended AS e ON e.day = b.day
        WHERE coalesce(b.day, e.day) BETWEEN '\(first)' AND '\(last)'
        """
    }

    /// Of lives whose charges of a product are whole periods apart. Where they are not, 30 days for a month differ from its mean length.
    @Test(arguments: [Seed.current])
    func `retention of the view's rows is that of the function`(seed: UInt64) async throws {
        let scene = try await ReportScene.make(lives: 300, seed: seed, isRegular: true)
        let published = try await scene.figures(
            """
            WITH eligible AS (
                SELECT * FROM appstore_reports.transactions
                WHERE end_time IS NOT NULL AND is_sandbox <> 'true' AND is_trial_period = 'false' AND is_in_intro_offer_period = 'false'
                  AND ownership_type = 'PURCHASED'
            ), customer AS (
                SELECT rc_original_app_user_id AS id, product_identifier AS product, date(min(start_time)) AS began,
                       CASE product_duration WHEN 'P7D' THEN 'P1W' WHEN 'P30D' THEN 'P1M' WHEN 'P4W' THEN 'P1M' WHEN 'P12M' THEN 'P1Y'
                                             ELSE product_duration END AS stated,
                       max(date(end_time) - date(start_time)) AS longest
                FROM eligible GROUP BY rc_original_app_user_id, product_identifier, product_duration
            ), timed AS (
                SELECT c.*, coalesce(c.stated, CASE
                    WHEN longest BETWEEN 0 AND 1 THEN 'P1D' WHEN longest = 3 THEN 'P3D' WHEN longest BETWEEN 6 AND 8 THEN 'P1W'
                    WHEN longest BETWEEN 12 AND 16 THEN 'P2W' WHEN longest BETWEEN 27 AND 37 THEN 'P1M' WHEN longest BETWEEN 58 AND 62 THEN 'P2M'
                    WHEN longest BETWEEN 88 AND 95 THEN 'P3M' WHEN longest BETWEEN 179 AND 185 THEN 'P6M'
                    WHEN longest BETWEEN 363 AND 375 THEN 'P1Y' END) AS duration
                FROM customer AS c
            ), placed AS (
                SELECT t.product, t.duration, t.began, CASE t.duration
                    WHEN 'P1W' THEN (date(e.start_time) - t.began) / 7
                    WHEN 'P1M' THEN round((date(e.start_time) - t.began) / 30.0)
                    WHEN 'P3M' THEN round((date(e.start_time) - t.began) / 90.0)
                    WHEN 'P6M' THEN round((date(e.start_time) - t.began) / 180.0)
                    WHEN 'P1Y' THEN round((12 * (extract(year FROM e.start_time) - extract(year FROM t.began))
                                           + extract(month FROM e.start_time) - extract(month FROM t.began)) / 12) END AS place
                FROM eligible AS e JOIN timed AS t ON t.id = e.rc_original_app_user_id AND t.product = e.product_identifier
            )
            SELECT concat_ws('|', product, duration, began, place::integer), ARRAY[count(1)::numeric] FROM placed WHERE place IS NOT NULL
            GROUP BY product, duration, began, place
            """
        )
        let retention = try await scene.figures(
            """
            SELECT concat_ws('|', product_identifier, product_duration, cohort, period_number), ARRAY[sum(subscriptions)]
            FROM appstore_reports.retention(unit => 'day') WHERE subscriptions > 0
            GROUP BY product_identifier, product_duration, cohort, period_number
            """
        )
        #expect(published.count > 100)
        #expect(differences(retention, published) == [], "seed \(seed)")
    }
}
