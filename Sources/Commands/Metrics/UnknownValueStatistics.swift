import Postgres
import Prometheus
import SQL

/// The values of Apple's lists that this program did not know, as `appstore.unknown_values()` gives them: for metrics and for `doctor`.
struct UnknownValueStatistics: ExposedStatistics {
    struct Value: Hashable, Sendable {
        /// `member=value`, percent-encoded.
        let name: String
        /// Those with it among the latest outcomes.
        let events: Int64
        let latestEventID: Int64
    }

    /// How many outcomes were looked at.
    let outcomes: Int64
    /// At most 20.
    let values: [Value]

    /// For the roles worker, viewer and operator.
    static let statement = Statement.unknownValues()

    static let metrics: [CollectedMetric<Self>] = [
        .each(
            "unknown_values",
            "Events of the last seven days, among the latest 10,000 outcomes, with a value that this version does not know, by value "
                + "(member=value, percent-encoded); at most 20 values."
        ) { $0.numbers.values.map { MetricRegistry.Sample([("value", $0.name)], Double($0.events)) } }
    ]

    init(_ row: Row) throws {
        outcomes = try row.decode("outcomes")
        let (events, latest): ([Int64], [Int64]) = (try row.decode("events"), try row.decode("latest_event_ids"))
        values = try row.decode("unknown", as: [String].self).enumerated().map { index, name in
            Value(name: name, events: events[index], latestEventID: latest[index])
        }
    }
}

extension MetricCatalogue {
    /// Values that are new at Apple. All workers show the same ones, as of their own last query, every five minutes.
    static let unknownValues = UnknownValueStatistics.metrics.map(\.description)
}
