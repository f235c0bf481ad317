import Postgres

/// Measures the reports over many charges, which PostgreSQL reads with as many processes as its settings allow.
package struct ReportsBenchmark: Sendable {
    package var charges = 10_000_000
    package var rounds = 3

    package init() {}

    private static let database = "reports"

    package func run(in environment: BenchmarkEnvironment) async throws -> BenchmarkReport {
        var machine = try Machine.current()
        return try await BenchmarkCluster.with { cluster in
            cluster.describe(in: &machine)
            environment.progress("making \(charges) charges")
            try await cluster.makeDatabase(Self.database, program: environment.program)
            try await cluster.withConnection(to: Self.database) { try await fill(on: $0) }
            try await cluster.checkpoint()
            var figures: [(report: Report, seconds: [Double])] = []
            for report in Self.reports {
                figures.append((report, try await measure(report, cluster, environment)))
            }
            return BenchmarkReport(
                name: "reports",
                summary:
                    "\(charges) charges of four years, of monthly and yearly subscriptions in two currencies, with trials, upgrades and "
                    + "refunds. The reports are of the third year, but for retention.",
                comparisons: figures.map { Comparison($0.report.label, unit: "s", rounds: $0.seconds, aim: $0.report.aim) },
                machine: machine
            )
        }
    }

    private struct Report {
        let label: String
        let query: Statement
        var aim: Comparison.Aim?
    }

    private static let reports = [
        Report(
            label: "a year of MRR by month",
            query: "SELECT count(*) AS rows FROM appstore_reports.mrr_by_month('2024-01-01', '2024-12-31')",
            aim: .below(5)
        ),
        Report(
            label: "a year of active subscriptions by day and product",
            query: "SELECT count(*) AS rows FROM appstore_reports.subscriptions_daily('2024-01-01', '2024-12-31', 'product')"
        ),
        Report(label: "churn by month", query: "SELECT count(*) AS rows FROM appstore_reports.churn('2024-01-01', '2024-12-31')"),
        Report(label: "retention of a year", query: "SELECT count(*) AS rows FROM appstore_reports.retention(first_day => '2022-01-01')"),
        Report(label: "refunds by month", query: "SELECT count(*) AS rows FROM appstore_reports.refunds('2024-01-01', '2024-12-31')"),
    ]

    private func measure(_ report: Report, _ cluster: BenchmarkCluster, _ environment: BenchmarkEnvironment) async throws -> [Double] {
        var seconds: [Double] = []
        for _ in 0..<rounds {
            try Task.checkCancellation()
            let start = SteadyClock.now()
            let rows = try await cluster.withConnection(to: Self.database) { connection in
                try await connection.query(report.query)[0].decode("rows", as: Int64.self)
            }
            guard rows > 0 else { throw BenchmarkError(.wrongResult, "\(report.label): no row") }
            seconds.append(SteadyClock.now() - start)
        }
        environment.progress("\(report.label): \(Samples(seconds).median.figureText) s")
        return seconds
    }

    /// Each contract begins on a day of its own, with 40 monthly or 4 yearly periods: 31 charges on an average. Every eighth began with a
    /// trial, every tenth charge was refunded by half, every 200th is an upgrade that replaced the one before it a third early.
    private func fill(on connection: Connection) async throws {
        let contracts = Int64(max(1, charges / 31))
        try await connection.execute("SET synchronous_commit = off")
        try await DeferredIndexes.run(of: ["appstore.transactions"], on: connection) {
            for place in 0..<Int32(40) {
                try Task.checkCancellation()
                try await connection.execute(
                    """
                    INSERT INTO appstore.transactions (environment, transaction_id, original_transaction_id, web_order_line_item_id, bundle_id,
                        product_id, product_type, subscription_group_identifier, purchase_date, original_purchase_date, expires_date, quantity,
                        in_app_ownership_type, revocation_date, revocation_percentage, offer_type, offer_discount_type, storefront, storefront_id,
                        transaction_reason, currency, price, app_transaction_id, signed_date, payload_hash, first_signed_date, period_no,
                        is_subscription, order_no)
                    SELECT 'Production', (c.id + \(place))::text, c.id::text, (c.id + \(place))::text, 'com.example.bench',
                           CASE WHEN c.is_yearly THEN 'pro.yearly' ELSE 'pro.monthly' END, 'Auto-Renewable Subscription', '21000000', p.start, c.start,
                           p.start + c.length, 1, 'PURCHASED', CASE WHEN (c.n + \(place)) % 10 = 0 THEN p.start + interval '9 days' END,
                           CASE WHEN (c.n + \(place)) % 10 = 0 THEN 50000 END, CASE WHEN p.is_trial THEN 1 END,
                           CASE WHEN p.is_trial THEN 'FREE_TRIAL' END, CASE WHEN c.n % 3 = 0 THEN 'DEU' ELSE 'USA' END, '143443',
                           CASE WHEN \(place) = 0 OR p.is_upgrade THEN 'PURCHASE' ELSE 'RENEWAL' END,
                           CASE WHEN c.n % 3 = 0 THEN 'EUR' ELSE 'USD' END, CASE WHEN p.is_trial THEN 0 ELSE 9990 END, c.id::text, p.start,
                           sha256(convert_to((c.id + \(place))::text, 'UTF8')), p.start, md5('period ' || c.id + \(place))::uuid, true,
                           md5('period ' || c.id + \(place))::uuid
                    FROM (
                        SELECT n, 100000000000000 + n * 64 AS id, n % 4 = 0 AS is_yearly,
                               CASE WHEN n % 4 = 0 THEN interval '1 year' ELSE interval '1 month' END AS length,
                               timestamptz '2022-01-01 UTC' + n % 240 * interval '1 day 7 minutes' AS start
                        FROM generate_series(1, \(contracts)) AS n
                    ) AS c
                    CROSS JOIN LATERAL (SELECT \(place) > 0 AND (c.n + \(place)) % 200 = 0 AS is_upgrade) AS u
                    CROSS JOIN LATERAL (
                        SELECT c.start + \(place) * c.length - CASE WHEN u.is_upgrade THEN c.length / 3 ELSE '0' END AS start, u.is_upgrade,
                               \(place) = 0 AND c.n % 8 = 0 AS is_trial
                    ) AS p
                    WHERE NOT c.is_yearly OR \(place) < 4
                    """
                )
            }
        }
        try await connection.execute("VACUUM ANALYZE appstore.transactions")
    }
}
