import Inbox
import Prometheus

/// Every metric of the daemons: name, kind and meaning, in one table.
enum MetricCatalogue {
    /// What `appstore-inbox ingest` shows.
    static let ingest = http + database + receiver + api
    /// What `appstore-inbox worker` shows.
    static let worker = http + database + batches + maintenance + inbox + outbox

    /// Bounds in seconds around what the README promises: milliseconds in the usual case, seconds in trouble.
    private static let latencies = MetricDescription.Kind.histogram(
        bounds: [0.001, 0.0025, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]
    )
    /// Bounds in seconds for what an event waits: from milliseconds to a day.
    private static let delays = MetricDescription.Kind.histogram(
        bounds: [0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800, 7200, 86_400]
    )
    /// Bounds in seconds for computing: one P-256 verification is 70 microseconds.
    private static let computations = MetricDescription.Kind.histogram(
        bounds: [0.00005, 0.0001, 0.0002, 0.0003, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.05, 0.1, 1]
    )
    private static let sizes = MetricDescription.Kind.histogram(bounds: [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1000])

    private static let http = [
        MetricDescription("appstore_inbox_http_connections", .gauge, "Open connections of clients, by listener."),
        MetricDescription(
            "appstore_inbox_http_refused_total",
            .counter,
            "Requests that were refused, by listener, status and the end of the problem's type."
        ),
    ]

    private static let database = [
        MetricDescription(
            "appstore_inbox_database_connections",
            .gauge,
            "Connections to PostgreSQL, by pool and state: idle, lent, opening, or unanswered, whose COMMIT the server has still to answer."
        ),
        MetricDescription(
            "appstore_inbox_database_connections_opened_total",
            .counter,
            "Connections to PostgreSQL that were opened, by pool: ingest, api, worker, or markers, the worker's one for crash markers."
        ),
        MetricDescription(
            "appstore_inbox_database_connections_lost_total",
            .counter,
            "Connections to PostgreSQL that broke, timed out or died, by pool: each is a reconnect to come."
        ),
        MetricDescription(
            "appstore_inbox_database_connection_failures_total",
            .counter,
            "Attempts to connect to PostgreSQL that did not succeed, by pool."
        ),
    ]

    private static let receiver = [
        MetricDescription(
            "appstore_inbox_ingest_accepted_total",
            .counter,
            "Notifications that were committed to the inbox and answered with 200, by route."
        ),
        MetricDescription("appstore_inbox_ingest_accepted_bytes_total", .counter, "Bytes of their bodies, by route."),
        MetricDescription("appstore_inbox_ingest_accept_seconds", latencies, "From the last byte of a notification to its commit."),
        MetricDescription("appstore_inbox_ingest_batch_events", sizes, "Notifications that shared a commit."),
        MetricDescription("appstore_inbox_ingest_commit_seconds", latencies, "One commit of a batch, getting a connection included."),
        MetricDescription(
            "appstore_inbox_ingest_commit_failures_total",
            .counter,
            "Batches that were not confirmed; their senders were told 503 and come again."
        ),
        MetricDescription(
            "appstore_inbox_ingest_reserved_bytes",
            .gauge,
            "Memory reserved for bodies that are being received or stored; 503 beyond memory-limit."
        ),
        MetricDescription("appstore_inbox_ingest_waiting_events", .gauge, "Notifications that wait for a batch."),
        MetricDescription("appstore_inbox_ingest_waiting_bytes", .gauge, "Bytes of notifications that wait for a batch."),
        MetricDescription("appstore_inbox_ingest_batches_in_flight", .gauge, "Batches that are being committed."),
    ]

    private static let api = [
        MetricDescription(
            "appstore_inbox_api_answered_total",
            .counter,
            "Requests of the shop's own backend that were answered, by operation and status."
        ),
        MetricDescription(
            "appstore_inbox_api_answer_seconds",
            delays,
            "From such a request to its answer, by operation; those that wait for an outcome included."
        ),
    ]

    private static let batches = [
        MetricDescription(
            "appstore_inbox_worker_outcomes_total",
            .counter,
            "Events that this worker settled, by notification type (none: nothing verified; other: not known to this version) and result."
        ),
        MetricDescription("appstore_inbox_worker_retries_total", .counter, "Attempts that failed and will be repeated."),
        MetricDescription("appstore_inbox_worker_batch_events", sizes, "Events in a batch that was committed."),
        MetricDescription("appstore_inbox_worker_batch_seconds", latencies, "One batch from its claim to its commit."),
        MetricDescription(
            "appstore_inbox_worker_batches_lost_total",
            .counter,
            "Batches that were not committed; their events stayed in the inbox."
        ),
        MetricDescription(
            "appstore_inbox_worker_suspects_total",
            .counter,
            "Events of lost batches, and those whose preparation took too long, as this worker found them; they run alone from then on."
        ),
        MetricDescription(
            "appstore_inbox_worker_deaths_total",
            .counter,
            "Deaths of a process that had only one event in its hands, as this worker found them; three make the event failed."
        ),
        MetricDescription("appstore_inbox_worker_batch_splits_total", .counter, "Times that a batch was split around an error."),
        MetricDescription(
            "appstore_inbox_worker_contested_total",
            .counter,
            "Events let go, to be taken again soon, since another batch of this worker was merging the same contract."
        ),
        MetricDescription(
            "appstore_inbox_worker_delay_seconds",
            delays,
            "From an event's arrival, by the database's clock, to the commit of its outcome; a requeued event counts from its arrival, too."
        ),
        MetricDescription(
            "appstore_inbox_worker_verification_seconds",
            computations,
            "Verifying and interpreting one event, on one core, without the database."
        ),
        MetricDescription(
            "appstore_inbox_worker_chain_cache_hits_total",
            .counter,
            "Signatures whose certificate chain had been verified before."
        ),
        MetricDescription(
            "appstore_inbox_worker_chain_cache_misses_total",
            .counter,
            "Signatures whose certificate chain had to be verified."
        ),
    ]

    private static let maintenance = [
        MetricDescription("appstore_inbox_maintenance_steps_total", .counter, "Steps of partitioning and ageing, by task."),
        MetricDescription("appstore_inbox_maintenance_rows_total", .counter, "Rows or events that these steps changed, by task."),
        MetricDescription(
            "appstore_inbox_maintenance_failures_total",
            .counter,
            "Steps that failed and will be tried again, by task; those that only made way for others not counted."
        ),
    ]
}
