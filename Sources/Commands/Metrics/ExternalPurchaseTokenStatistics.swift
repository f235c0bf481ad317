import Postgres
import Prometheus
import SQL

/// The tokens for purchases outside the App Store that wait to be reported, as `appstore.external_purchase_token_statistics()` counts them: for
/// metrics and for `doctor`.
struct ExternalPurchaseTokenStatistics: ExposedStatistics {
    /// Apple complains, or will any moment.
    let overdue: Int64
    /// Due within two days.
    let dueSoon: Int64
    /// These, and all that are due later.
    let unreported: Int64

    /// For the roles worker, viewer and operator.
    static let statement = Statement.externalPurchaseTokenStatistics()

    static let metrics: [CollectedMetric<Self>] = [
        .each(
            "external_purchase_tokens",
            "Tokens for purchases outside the App Store in Production that are not marked as reported to Apple, by state: overdue, due_soon "
                + "(within two days), or later. Exact up to 10,000."
        ) { reading in
            let numbers = reading.numbers
            let later = numbers.unreported - numbers.overdue - numbers.dueSoon
            return [("overdue", numbers.overdue), ("due_soon", numbers.dueSoon), ("later", later)].map { state, count in
                MetricRegistry.Sample([("state", state)], Double(count))
            }
        }
    ]

    init(overdue: Int64, dueSoon: Int64, unreported: Int64) {
        (self.overdue, self.dueSoon, self.unreported) = (overdue, dueSoon, unreported)
    }

    init(_ row: Row) throws {
        self.init(overdue: try row.decode("overdue"), dueSoon: try row.decode("due_soon"), unreported: try row.decode("unreported"))
    }
}

extension MetricCatalogue {
    /// Tokens for purchases outside the App Store. All workers show the same, as of their own last query, every five minutes.
    static let externalPurchaseTokens = ExternalPurchaseTokenStatistics.metrics.map(\.description)
}
