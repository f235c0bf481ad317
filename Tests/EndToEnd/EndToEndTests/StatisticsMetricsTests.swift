import EndToEndTesting
import Postgres
import PostgresTesting
import PrometheusTesting
import Testing

extension EndToEnd {
    /// The metrics that a worker reads from the database. The tests replace the database's function by distinct constants.
    @Suite struct StatisticsMetricsTests {
        @Test func `each statistic of inbox and outbox has its own metric`() async throws {
            let columns = Self.columns(hasAges: true)
            try await Installation.lend { installation in
                try await installation.books.execute(
                    """
                    INSERT INTO appstore.outbox (kind, call_key, bundle_id, payload, asked_at, run_at, deadline_at)
                    SELECT 'verify_receipt', n::text, 'com.example.tides', '\\x01', now() - n * interval '100 s', now() + interval '1 day',
                           now() + interval '2 days'
                    FROM generate_series(1, 21) AS n
                    """
                )
                let metrics = try await shown(in: installation, saying: columns)
                for column in columns { #expect(metrics.value("appstore_inbox_\(column.metric)") == column.number, "\(column.metric)") }
                #expect(metrics.value("appstore_inbox_outbox_open_calls") == 21)
                let oldest = try #require(metrics.value("appstore_inbox_outbox_oldest_call_age_seconds"))
                #expect(oldest >= 2100 && oldest < 2400)
            }
        }

        @Test func `the age of an empty queue is 0, and the time since the last notification is absent without one`() async throws {
            let columns = Self.columns(hasAges: false)
            try await Installation.lend { installation in
                let metrics = try await shown(in: installation, saying: columns)
                for column in columns { #expect(metrics.value("appstore_inbox_\(column.metric)") == column.number, "\(column.metric)") }
                #expect(metrics.value("appstore_inbox_outbox_open_calls") == 0)
                #expect(metrics.value("appstore_inbox_outbox_oldest_call_age_seconds") == 0)
            }
        }

        /// A column of `appstore.inbox_statistics()` with its value, and the metric that exposes it.
        private struct Column {
            let name: String
            let type: String
            let answer: String
            let metric: String
            /// Nil where the metric must be absent.
            let number: Double?
        }

        /// The columns in order, with distinct values.
        private static func columns(hasAges: Bool) -> [Column] {
            func count(_ name: String, _ number: Int, as metric: String) -> Column {
                Column(name: name, type: "bigint", answer: "\(number)", metric: metric, number: Double(number))
            }
            func age(_ name: String, _ seconds: Double, as metric: String, orElse unknown: Double? = 0) -> Column {
                let answer = hasAges ? "\(seconds) * interval '1 second'" : "NULL"
                return Column(name: name, type: "interval", answer: answer, metric: metric, number: hasAges ? seconds : unknown)
            }
            return [
                count("ready", 11, as: "ready_events"),
                count("waiting", 12, as: "waiting_events"),
                count("unsettled", 13, as: "unsettled_events"),
                count("isolated", 14, as: "isolated_events"),
                count("failed", 15, as: "failed_events"),
                age("overdue", 101.5, as: "overdue_seconds"),
                age("oldest_unsettled", 102.5, as: "oldest_unsettled_age_seconds"),
                age("silence", 103.5, as: "last_notification_age_seconds", orElse: nil),
                count("lost_batches", 16, as: "lost_batches"),
                count("partitions", 17, as: "partitions"),
                age("snapshot_age", 104.5, as: "oldest_snapshot_age_seconds"),
                count("snapshot_transactions", 18, as: "oldest_snapshot_age_transactions"),
                Column(
                    name: "sees_all_sessions",
                    type: "boolean",
                    answer: "\(hasAges)",
                    metric: "snapshots_complete",
                    number: hasAges ? 1 : 0
                ),
            ]
        }

        /// The metrics of a worker whose database returns these columns.
        private func shown(in installation: Installation, saying columns: [Column]) async throws -> ExposedMetrics {
            let parameters = columns.map { "OUT \($0.name) \($0.type)" }.joined(separator: ", ")
            let answers = columns.map { "(\($0.answer))::\($0.type)" }.joined(separator: ", ")
            try await installation.books.execute(
                """
                CREATE OR REPLACE FUNCTION appstore.inbox_statistics(\(unsafeRaw: parameters)) LANGUAGE sql STABLE
                AS $$ SELECT \(unsafeRaw: answers) $$
                """
            )
            let admin = HTTPClient(port: FreePort.find())
            _ = try await installation.startWorker([
                "APPSTORE_INBOX_APPS": "com.example.tides", "APPSTORE_INBOX_WORKER_ADMIN_LISTEN": "127.0.0.1:\(admin.port)",
            ])
            return try await eventually("the numbers of inbox and outbox have been read") { () -> ExposedMetrics? in
                let answer = try await admin.get("/metrics")
                let metrics = try ExposedMetrics(String(decoding: answer.body, as: UTF8.self))
                let isRead =
                    metrics.value("appstore_inbox_statistics_up") == 1 && metrics.value("appstore_inbox_outbox_open_calls") != nil
                return isRead ? metrics : nil
            }
        }
    }
}
