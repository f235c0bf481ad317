import Backfill
import Outbox
import Postgres
import Revocation
import SQL
import ServerAPI
import ServiceSupport

extension MetricCatalogue {
    /// Questions to Apple's App Store Server API: what this worker asked, and the budget that all workers share.
    static let serverAPI =
        [
            MetricDescription(
                "appstore_inbox_server_api_requests_total",
                .counter,
                "Requests of this worker to the App Store Server API, by endpoint, HTTP status or failure, and Apple's error code (none, or other: "
                    + "not documented)."
            ),
            MetricDescription(
                "appstore_inbox_server_api_key_refused_total",
                .counter,
                "Answers 401 of the App Store Server API, by cause, as far as other answers tell: clock, app_not_released, key, issuer, bundle_id, "
                    + "revoked or unknown."
            ),
            MetricDescription(
                "appstore_inbox_server_api_clock_skew_seconds",
                .gauge,
                "This machine's clock minus Apple's, at the latest answer."
            ),
        ] + BudgetStatistics.metrics.map(\.description)
}

extension BudgetStatistics: ExposedStatistics {
    static let metrics: [CollectedMetric<Self>] = [
        .each(
            "server_api_blocked_seconds",
            "Seconds until an endpoint may be asked again after a 429, by endpoint and environment: the longest of all apps."
        ) { $0.numbers.budgets.map { MetricRegistry.Sample($0.labels, $0.blockedSeconds) } },
        .each(
            "server_api_budget_used_ratio",
            "Requests of all workers in this hour in relation to the budget of an hour, by endpoint and environment: the highest of all apps."
        ) { $0.numbers.budgets.map { MetricRegistry.Sample($0.labels, $0.usedRatio) } },
    ]
}

extension BudgetStatistics.Budget {
    fileprivate var labels: [(String, String)] { [("endpoint", endpoint), ("environment", environment)] }
}

extension MetricCatalogue {
    /// Calls to other services that the ledger requests.
    static let outbox =
        [
            MetricDescription(
                "appstore_inbox_outbox_attempts_total",
                .counter,
                "Attempts of this worker at calls, by the call's kind and result: answered, refused (for good), given_up (past its deadline), "
                    + "postponed, or late (another worker has taken over the call)."
            ),
            MetricDescription(
                "appstore_inbox_outbox_exchange_seconds",
                .histogram(bounds: [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]),
                "Time from a request of a call to its complete response, or to its failure."
            ),
        ] + OutboxStatistics.metrics.map(\.description)
}

extension OutboxStatistics: ExposedStatistics {
    static let metrics: [CollectedMetric<Self>] = [
        CollectedMetric(
            "outbox_open_calls",
            "Calls that wait for an answer. Exact up to \(countedTo), which means as many or more."
        ) { Double($0.open) },
        CollectedMetric("outbox_oldest_call_timestamp_seconds", at: "When the oldest open call was requested") { $0.oldest },
    ]
}

extension MetricCatalogue {
    /// Apple's notification history: what went wrong in this worker, and how far all of them have read.
    static let history =
        [
            MetricDescription(
                "appstore_inbox_history_errors_total",
                .counter,
                "Requests of this worker for the notification history that brought no page, by reason, such as rate_limited, http_503, apple_4000014, "
                    + "token_missing, token_too_long, token_repeated or answer_of_another_app."
            )
        ] + HistoryStatistics.metrics.map(\.description)
}

extension HistoryStatistics: ExposedStatistics {
    static let metrics: [CollectedMetric<Self>] = [
        .each(
            "history_covered_age_seconds",
            "Seconds since the end of the time that was read without a hole, by environment: of the app that is behind most."
        ) { $0.numbers.environments.map { MetricRegistry.Sample([("environment", $0.name)], $0.coveredAge) } },
        .each(
            "history_failing_seconds",
            "For how long a window of the history has failed, by environment: the longest; 0 where none fails."
        ) { $0.numbers.environments.map { MetricRegistry.Sample([("environment", $0.name)], $0.failing) } },
        .each(
            "history_records_total",
            "Notifications in the history by environment, mode (beside: another server may have taken them) and class: confirmed, recovered, "
                + "taken_elsewhere, refused_here, in_flight or unlisted. Of all workers.",
            .counter
        ) { $0.numbers.samples },
    ]

    /// A series for each class, also those without a record: an increase from nothing to one would not be seen.
    private var samples: [MetricRegistry.Sample] {
        let byKind = Dictionary(grouping: counts) { [$0.environment, $0.mode, $0.class] }
        return Set(environments.map(\.name) + counts.map(\.environment)).sorted().flatMap { environment in
            ["walk", "beside"].flatMap { mode in
                Self.classes.map { name in
                    let count = byKind[[environment, mode, name]]?.first?.records ?? 0
                    return MetricRegistry.Sample([("environment", environment), ("mode", mode), ("class", name)], Double(count))
                }
            }
        }
    }
}

extension MetricCatalogue {
    /// Questions about contracts that look stale. All workers show the same, as read from the database.
    static let reconcile = ReconcileStatistics.metrics.map(\.description)
}

extension ReconcileStatistics: ExposedStatistics {
    static let metrics: [CollectedMetric<Self>] = [
        .each(
            "reconcile_questions_total",
            "Questions to Apple about contracts, by rule: expired_silent, no_renewal_info, in_retry, revoked_doubt, price_consent, sample or operator.",
            .counter
        ) { $0.numbers.rules.map { MetricRegistry.Sample([("rule", $0.name)], Double($0.questions)) } },
        .each(
            "reconcile_changed_total",
            "Those whose answer changed what the customer may use, or until when, by rule. A rule that never changes anything is not worth asking.",
            .counter
        ) { $0.numbers.rules.map { MetricRegistry.Sample([("rule", $0.name)], Double($0.changed)) } },
        CollectedMetric(
            "books_wrong_ratio",
            "The share of the random sample of active contracts of the last 30 days of which Apple's answer changed the ledger; absent without an answer."
        ) { $0.wrongRatio },
    ]
}

extension MetricCatalogue {
    /// The running imports, of all workers.
    static let imports = ImportStatistics.metrics.map(\.description)
}

extension ImportStatistics: ExposedStatistics {
    static let metrics: [CollectedMetric<Self>] = [
        CollectedMetric("import_remaining", "Customers of running imports that Apple has not answered yet.") { Double($0.remaining) },
        CollectedMetric(
            "import_eta_seconds",
            "Seconds until the last running import is done, at the rate of the last ten minutes; absent while no rate is known."
        ) { $0.timeLeft.map { max(0, $0) } },
    ]
}

extension MetricCatalogue {
    /// Answers to Apple's consumption requests. All workers show the same requests, as read from the database.
    static let consumption =
        [
            MetricDescription(
                "appstore_inbox_consumption_answered_seconds",
                .histogram(bounds: [60, 300, 900, 1800, 3600, 7200, 14_400, 21_600, 28_800, 36_000, 39_600, 43_200]),
                "Time from Apple's first request to the answer of this worker that Apple took."
            )
        ] + ConsumptionStatistics.metrics.map(\.description)
}

extension ConsumptionStatistics: ExposedStatistics {
    static let metrics: [CollectedMetric<Self>] = [
        CollectedMetric(
            "consumption_open",
            "Consumption requests for whose answer Apple waits, and that are to be answered by policy. Exact up to "
                + "\(countedTo), which means as many or more."
        ) { Double($0.open) },
        CollectedMetric(
            "consumption_due_seconds",
            "Time until the first of them is due of which nothing was decided, or whose answer Apple refused; absent where there is none."
        ) { $0.due.map { $0 / .seconds(1) } },
        CollectedMetric(
            "consumption_missed_total",
            "Consumption requests that were to be answered by policy, and were not until they were due or Apple decided. Each is counted "
                + "some 70 minutes after it was due.",
            .counter
        ) { Double($0.missed) },
    ]
}

/// Apple's consumption requests that are to be answered by policy.
struct ConsumptionStatistics: Statistics {
    /// The number for which Apple waits; ``countedTo`` means as many or more.
    private let open: Int64
    /// The time until the first one without a decision is due; nil where there is none.
    private let due: Duration?
    /// Those that were missed so far.
    private let missed: Int64

    private static let countedTo: Int64 = 10_000

    /// For the role worker.
    static let statement = Statement.consumptionStatistics()

    init(_ row: Row) throws {
        open = try row.decode("open")
        due = try row.decode("due")
        missed = try row.decode("missed")
    }
}

extension MetricCatalogue {
    /// Whether the certificates that sign are revoked, as read from the database by workers that ask.
    static let revocation = RevocationStatistics.metrics.map(\.description)
}

extension RevocationStatistics: ExposedStatistics {
    static let metrics: [CollectedMetric<Self>] = [
        CollectedMetric(
            "revocation_age_seconds",
            "For how long no OCSP responder has given a usable answer about a certificate that signed within 30 days, the largest of all; absent "
                + "where none is asked about."
        ) { $0.age.map { $0 / .seconds(1) } },
        CollectedMetric(
            "revoked_certificates",
            "Certificates that signed and are revoked, so that events are rejected; not those whose revocation an operator ignores."
        ) { Double($0.revoked) },
    ]
}
