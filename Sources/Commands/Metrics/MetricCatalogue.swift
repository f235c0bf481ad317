import Postgres
import ServiceSupport

/// Every metric of the daemons: name, kind and meaning, in one table.
enum MetricCatalogue {
    /// The metrics of `appstore-inbox ingest`.
    static let ingest = process + http + database + receiver + api
    /// The metrics of `appstore-inbox worker`.
    static let worker =
        process + http + database + batches + maintenance + inbox + storage + outbox + serverAPI + history + reconcile + imports + endpoints
        + revocation + consumption + unknownValues + externalPurchaseTokens

    /// The metrics of `appstore-inbox console`.
    static let console = process + http + database + pages

    /// Bounds in seconds around the latencies that the README promises.
    private static let latencies = MetricDescription.Kind.histogram(
        bounds: [0.001, 0.0025, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]
    )
    /// Bounds in seconds for the time that an event waits, up to a day.
    private static let delays = MetricDescription.Kind.histogram(
        bounds: [0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800, 7200, 86_400]
    )
    /// Bounds in seconds for computing: one P-256 verification is 70 microseconds.
    private static let computations = MetricDescription.Kind.histogram(
        bounds: [0.00005, 0.0001, 0.0002, 0.0003, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.05, 0.1, 1]
    )
    private static let sizes = MetricDescription.Kind.histogram(bounds: [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1000])

    private static let http = [
        MetricDescription("appstore_inbox_http_connections", .gauge, "Open client connections, by listener."),
        MetricDescription(
            "appstore_inbox_http_refused_total",
            .counter,
            "Refused requests, by listener, status and the last part of the problem's type."
        ),
    ]

    private static let database = [
        MetricDescription(
            "appstore_inbox_database_connections",
            .gauge,
            "Connections to PostgreSQL, by pool and state: idle, leased, opening, or unanswered (COMMIT sent, no answer yet)."
        ),
        MetricDescription(
            "appstore_inbox_database_connections_opened_total",
            .counter,
            "Opened connections to PostgreSQL, by pool: ingest, api, standby (reads of the API), worker, console, or "
                + "markers (the worker's connection for crash markers)."
        ),
        MetricDescription(
            "appstore_inbox_database_connections_lost_total",
            .counter,
            "Connections to PostgreSQL that broke or timed out, by pool."
        ),
        MetricDescription(
            "appstore_inbox_database_connection_failures_total",
            .counter,
            "Failed attempts to connect to PostgreSQL, by pool."
        ),
    ]

    private static let receiver = [
        MetricDescription(
            "appstore_inbox_ingest_accepted_total",
            .counter,
            "Notifications committed to the inbox and answered with 200, by route."
        ),
        MetricDescription("appstore_inbox_ingest_accepted_bytes_total", .counter, "Bytes of accepted notifications, by route."),
        MetricDescription("appstore_inbox_ingest_accept_seconds", latencies, "Time from the last byte of a notification to its commit."),
        MetricDescription("appstore_inbox_ingest_batch_events", sizes, "Notifications that shared a commit."),
        MetricDescription(
            "appstore_inbox_ingest_commit_seconds",
            latencies,
            "Time to commit a batch of notifications, with the wait for a connection."
        ),
        MetricDescription(
            "appstore_inbox_ingest_commit_failures_total",
            .counter,
            "Batches of notifications whose commit was not confirmed; the senders got 503 and retry."
        ),
        MetricDescription(
            "appstore_inbox_ingest_reserved_bytes",
            .gauge,
            "Memory reserved for bodies being received or stored; requests beyond memory-limit get 503."
        ),
        MetricDescription("appstore_inbox_ingest_waiting_events", .gauge, "Notifications that wait to be stored."),
        MetricDescription("appstore_inbox_ingest_waiting_bytes", .gauge, "Bytes of notifications that wait to be stored."),
        MetricDescription("appstore_inbox_ingest_batches_in_flight", .gauge, "Batches of notifications that are being committed."),
    ]

    private static let api = [
        MetricDescription(
            "appstore_inbox_api_answered_total",
            .counter,
            "Answered requests of the shop's own backend, by operation and status."
        ),
        MetricDescription(
            "appstore_inbox_api_answer_seconds",
            delays,
            "Time from a request of the shop's own backend to its answer, by operation, including waits for an outcome."
        ),
    ]

    private static let pages = [
        MetricDescription("appstore_inbox_console_answered_total", .counter, "Answered requests of the console, by operation and status."),
        MetricDescription(
            "appstore_inbox_console_answer_seconds",
            latencies,
            "Time from a request of the console to its answer, by operation."
        ),
    ]

    private static let batches = [
        MetricDescription(
            "appstore_inbox_worker_outcomes_total",
            .counter,
            "Events that this worker settled, by result and notification type (none: not verified; other: unknown to this version)."
        ),
        MetricDescription(
            "appstore_inbox_worker_odd_member_events_total",
            .counter,
            "Settled events whose genuine content has members of another type than this version reads; doctor names them."
        ),
        MetricDescription("appstore_inbox_worker_retries_total", .counter, "Attempts of events that failed and will be retried."),
        MetricDescription("appstore_inbox_worker_batch_events", sizes, "Events in a committed batch of a worker."),
        MetricDescription("appstore_inbox_worker_batch_seconds", latencies, "Time from a worker's claim of a batch to its commit."),
        MetricDescription(
            "appstore_inbox_worker_batches_lost_total",
            .counter,
            "Batches that a worker did not commit, so that the events stayed in the inbox."
        ),
        MetricDescription(
            "appstore_inbox_worker_isolated_total",
            .counter,
            "Events that this worker isolated: those of lost batches, and those whose preparation took too long. They run one to a batch."
        ),
        MetricDescription(
            "appstore_inbox_worker_deaths_total",
            .counter,
            "Deaths of a process with only one event in flight, as this worker found them; three make the event failed."
        ),
        MetricDescription(
            "appstore_inbox_worker_batch_splits_total",
            .counter,
            "Batches that failed because of an event, so that their events ran one by one."
        ),
        MetricDescription(
            "appstore_inbox_worker_contested_total",
            .counter,
            "Events released, to be claimed again soon, since another batch of this worker was merging the same contract."
        ),
        MetricDescription(
            "appstore_inbox_worker_delay_seconds",
            delays,
            "Time from an event's arrival to the commit of its outcome, by the database's clock; the same for a requeued event."
        ),
        MetricDescription(
            "appstore_inbox_worker_verification_seconds",
            computations,
            "Time to verify and interpret one event on one core, without the database."
        ),
        MetricDescription(
            "appstore_inbox_worker_chain_cache_hits_total",
            .counter,
            "Signatures whose certificate chain was in the cache of verified chains."
        ),
        MetricDescription(
            "appstore_inbox_worker_chain_cache_misses_total",
            .counter,
            "Signatures whose certificate chain was not in the cache and was verified."
        ),
    ]

    private static let maintenance = [
        MetricDescription(
            "appstore_inbox_maintenance_steps_total",
            .counter,
            "Steps of partitioning and retention that were carried out, by task."
        ),
        MetricDescription(
            "appstore_inbox_maintenance_rows_total",
            .counter,
            "Rows or events that steps of partitioning and retention changed, by task."
        ),
        MetricDescription(
            "appstore_inbox_maintenance_failures_total",
            .counter,
            "Steps of partitioning and retention that failed and will be retried, by task; not counted: steps that only yielded to a lock."
        ),
    ]
}

/// Numbers of the database that a worker exposes as metrics.
protocol ExposedStatistics: Statistics {
    static var metrics: [CollectedMetric<Self>] { get }
}

/// A metric, and its series in a reading of the database.
struct CollectedMetric<Numbers: Statistics>: Sendable {
    typealias Reading = StatisticsCollector<Numbers>.Reading

    let description: MetricDescription
    let samples: @Sendable (Reading) -> [MetricRegistry.Sample]
}

extension CollectedMetric {
    /// A metric with one series, which is absent where the value is nil.
    ///
    /// - Parameter name: without the prefix of all metrics.
    init(_ name: String, _ help: String, _ kind: MetricDescription.Kind = .gauge, _ value: @escaping @Sendable (Numbers) -> Double?) {
        self = .each(name, help, kind) { reading in value(reading.numbers).map { [MetricRegistry.Sample([], $0)] } ?? [] }
    }

    /// A time: ages by the database's clock before the instant of the reading, so that it stays the same between two readings.
    init(_ name: String, at help: String, _ age: @escaping @Sendable (Numbers) -> Duration?) {
        self = .each(name, help + ", in seconds since 1970; absent where there is none.") { reading in
            age(reading.numbers).map { [MetricRegistry.Sample([], reading.time - $0 / .seconds(1))] } ?? []
        }
    }

    /// A metric with any number of series.
    static func each(
        _ name: String,
        _ help: String,
        _ kind: MetricDescription.Kind = .gauge,
        _ samples: @escaping @Sendable (Reading) -> [MetricRegistry.Sample]
    ) -> CollectedMetric {
        CollectedMetric(description: MetricDescription("appstore_inbox_" + name, kind, help), samples: samples)
    }
}

extension StatisticsCollector where Numbers: ExposedStatistics {
    /// Exposes the latest numbers; they are absent until the database has answered.
    func expose(in registry: MetricRegistry) {
        for metric in Numbers.metrics {
            registry.observe(metric.description.name, each: { [self] in latest.map(metric.samples) ?? [] })
        }
    }
}
