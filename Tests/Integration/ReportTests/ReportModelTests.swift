import Randomness
import Testing

/// Each report by a plain model of its definition, from random lives. Set REPORT_SEED to repeat a run.
struct ReportModelTests {
    private static let dimensions: [String?] = [nil, "app", "product", "storefront", "offer", "currency"]

    @Test(arguments: [Seed.current, Seed.current &+ 1])
    func `each report says what its definition says, whatever happened`(seed: UInt64) async throws {
        let scene = try await ReportScene.make(lives: 300, seed: seed)
        var random = SeededGenerator(seed: seed)
        let start = Day(containing: 1_672_531_200)
        for by in Self.dimensions {
            let model = ReportModel(scene.lives, by: by)
            let name = "seed \(seed), by \(by ?? "nothing")"
            let argument = by.map { "'\($0)'" } ?? "NULL"
            let first = Day(start.number + Int.random(in: 0..<500, using: &random))
            let days = (0..<40).map { Day(first.number + $0) }
            let months = Period.months(8, from: first)
            let range = "'\(first)', '\(Day(months[7].next.number - 1))'"

            let active = try await scene.figures(
                """
                SELECT concat_ws('|', day, value), ARRAY[subscriptions, in_grace, trials]
                FROM appstore_reports.subscriptions_daily('\(first)', '\(days[39])', \(argument))
                """
            )
            #expect(differences(active, model.active(at: days)) == [], "active, \(name)")
            let atOnce = try await scene.figures(
                """
                SELECT concat_ws('|', day, value), ARRAY[subscriptions, in_grace, trials]
                FROM appstore_reports.active_subscriptions('\(first)', \(argument))
                """
            )
            #expect(differences(atOnce, model.active(at: [first])) == [], "active at, \(name)")
            let mrr = try await scene.figures(
                """
                SELECT concat_ws('|', day, value, coalesce(currency, '-')), ARRAY[subscriptions, without_price, mrr]
                FROM appstore_reports.mrr_by_month(\(range), \(argument))
                """
            )
            #expect(differences(mrr, model.mrr(at: months.map { $0.next.previous })) == [], "MRR, \(name)")
            let movement = try await scene.figures(
                """
                SELECT concat_ws('|', period, value), ARRAY[new_subscriptions, first_known, renewals, expirations, churned, net]
                FROM appstore_reports.movement(\(range), \(argument))
                """
            )
            #expect(differences(movement, model.movement(months)) == [], "movement, \(name)")
            let churn = try await scene.figures(
                """
                SELECT concat_ws('|', period, value), ARRAY[active_at_start, churned, churn_rate * 1000]
                FROM appstore_reports.churn(\(range), \(argument))
                """
            )
            #expect(differences(churn, model.churn(months)) == [], "churn, \(name)")
            let trials = try await scene.figures(
                """
                SELECT concat_ws('|', period, value), ARRAY[trials, converted, refunded, conversion_rate * 1000]
                FROM appstore_reports.trials(\(range), \(argument))
                """
            )
            #expect(differences(trials, model.trials(months)) == [], "trials, \(name)")
            let refunds = try await scene.figures(
                """
                SELECT concat_ws('|', period, value, coalesce(currency, '-')), ARRAY[transactions, refunded, gross, refunded_amount]
                FROM appstore_reports.refunds(\(range), \(argument))
                """
            )
            #expect(differences(refunds, model.refunds(months)) == [], "refunds, \(name)")
            let status = try await scene.figures(
                "SELECT concat_ws('|', value, status), ARRAY[subscriptions] FROM appstore_reports.renewal_status_at('\(first)', \(argument))"
            )
            #expect(differences(status, model.status(at: first)) == [], "status, \(name)")
        }
        let retention = try await scene.figures(
            """
            SELECT concat_ws('|', bundle_id, product_identifier, product_duration, cohort, period_number), ARRAY[subscriptions, refunded, cohort_size]
            FROM appstore_reports.retention() WHERE subscriptions > 0
            """
        )
        #expect(differences(retention, ReportModel(scene.lives, by: nil).retention()) == [], "retention, seed \(seed)")
        let sandbox = try await scene.figures(
            "SELECT concat_ws('|', day, value), ARRAY[subscriptions, in_grace, trials] FROM appstore_reports.active_subscriptions('2023-12-01', sandbox => true)"
        )
        let expected = ReportModel(scene.lives, by: nil, environment: "Sandbox").active(at: [Day(containing: 1_701_388_800)])
        #expect(differences(sandbox, expected) == [], "Sandbox, seed \(seed)")
    }
}
