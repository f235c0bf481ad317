import Postgres
import SQL
import ServiceSupport

/// How far endpoints and named consumers of the feed are.
struct EndpointStatistics: Statistics {
    private struct Endpoint: Sendable {
        let name: String
        let state: String
        /// Entries after its position.
        let lag: Int64
        /// The age of the oldest entry that it wants and has not got; nil when there is none.
        let oldestUndelivered: Duration?
        let open: Int64
        let givenUp: Int64
    }

    private let endpoints: [Endpoint]
    /// Entries that each consumer has not taken.
    private let consumers: [(name: String, lag: Int64)]

    /// For the role worker.
    static let statement = Statement.endpointReadStatistics()

    init(_ row: Row) throws {
        let (names, states): ([String], [String]) = (try row.decode("names"), try row.decode("states"))
        let (lags, oldest): ([Int64], [Double?]) = (try row.decode("lags"), try row.decode("oldest"))
        let (open, givenUp): ([Int64], [Int64]) = (try row.decode("open"), try row.decode("given_up"))
        endpoints = names.indices.map { index in
            Endpoint(
                name: names[index],
                state: states[index],
                lag: lags[index],
                oldestUndelivered: oldest[index].map { .seconds(max($0, 0)) },
                open: open[index],
                givenUp: givenUp[index]
            )
        }
        consumers = Array(zip(try row.decode("consumers", as: [String].self), try row.decode("consumer_lags", as: [Int64].self)))
    }
}

extension MetricCatalogue {
    /// Webhooks: what this worker sent, and how far endpoints and named consumers of the feed are, as read from the database.
    static let endpoints =
        [
            MetricDescription(
                "appstore_inbox_endpoint_attempts_total",
                .counter,
                "Attempts of this worker to deliver a webhook, by endpoint and result: delivered, failed, refused (by this program, before "
                    + "anything was sent), later (the receiver asked for a pause), probe_failed, or given_up."
            ),
            MetricDescription(
                "appstore_inbox_endpoint_seconds",
                .histogram(bounds: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 30, 60]),
                "Time from the begin of an attempt to the receiver's answer, or to its failure, by endpoint."
            ),
        ] + EndpointStatistics.metrics.map(\.description)
}

extension EndpointStatistics: ExposedStatistics {
    static let metrics: [CollectedMetric<Self>] = [
        .each(
            "endpoint_state",
            "1 for the state of each endpoint: enabled, paused (by an operator), disabled (it refused or failed too long), or behind (entries "
                + "that it has not got have aged)."
        ) { $0.numbers.endpoints.map { MetricRegistry.Sample([("endpoint", $0.name), ("state", $0.state)], 1) } },
        ofEach("endpoint_lag_entries", "Entries of the feed after the position of each endpoint, whether it wants them or not.") {
            endpoint,
            _ in
            Double(endpoint.lag)
        },
        ofEach(
            "endpoint_oldest_undelivered_timestamp_seconds",
            "When the oldest entry that an endpoint wants and has not got was told, in seconds since 1970; absent where there is none."
        ) { endpoint, time in endpoint.oldestUndelivered.map { time - $0 / .seconds(1) } },
        ofEach(
            "endpoint_open_deliveries",
            "Deliveries of each endpoint that failed and are repeated, or wait behind one of the same contract."
        ) { endpoint, _ in Double(endpoint.open) },
        ofEach("endpoint_given_up_deliveries", "Deliveries of each endpoint that were given up after the last attempt.") { endpoint, _ in
            Double(endpoint.givenUp)
        },
        .each("consumer_lag_entries", "Entries of the feed that each named consumer has not taken.") {
            $0.numbers.consumers.map { MetricRegistry.Sample([("consumer", $0.name)], Double($0.lag)) }
        },
    ]

    /// A metric with a series for each endpoint where the value is known.
    private static func ofEach(
        _ name: String,
        _ help: String,
        _ value: @escaping @Sendable (Endpoint, _ time: Double) -> Double?
    ) -> CollectedMetric<Self> {
        .each(name, help) { reading in
            reading.numbers.endpoints.compactMap { endpoint in
                value(endpoint, reading.time).map { MetricRegistry.Sample([("endpoint", endpoint.name)], $0) }
            }
        }
    }
}
