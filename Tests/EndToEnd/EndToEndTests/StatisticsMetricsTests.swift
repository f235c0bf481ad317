import EndToEndTesting
import Foundation
import Postgres
import PostgresTesting
import PrometheusTesting
import Testing

extension EndToEndInterfaces {
    /// The metrics that a worker reads from the database.
    @Suite struct StatisticsMetricsTests {
        /// The columns of `appstore.inbox_statistics()` in order, each with a distinct value, and the metric that exposes it. The number of a
        /// timestamp is its age.
        private static let columns: [(name: String, type: String, answer: String, metric: String, number: Double)] = [
            ("ready", "bigint", "11", "ready_events", 11), ("waiting", "bigint", "12", "waiting_events", 12),
            ("unsettled", "bigint", "13", "unsettled_events", 13), ("isolated", "bigint", "14", "isolated_events", 14),
            ("failed", "bigint", "15", "failed_events", 15), ("overdue", "interval", "'101.5 s'", "oldest_due_timestamp_seconds", 101.5),
            ("oldest_unsettled", "interval", "'102.5 s'", "oldest_unsettled_timestamp_seconds", 102.5),
            ("silence", "interval", "'103.5 s'", "last_notification_timestamp_seconds", 103.5),
            ("lost_batches", "bigint", "16", "lost_batches", 16), ("partitions", "bigint", "17", "partitions", 17),
            ("snapshot_age", "interval", "'104.5 s'", "oldest_snapshot_timestamp_seconds", 104.5),
            ("snapshot_transactions", "bigint", "18", "oldest_snapshot_age_transactions", 18),
            ("sees_all_sessions", "boolean", "true", "snapshots_complete", 1), ("feed_position", "bigint", "19", "feed_position", 19),
            ("feed_untold", "interval", "'105.5 s'", "feed_unsequenced_timestamp_seconds", 105.5),
            ("feed_lag", "bigint", "20", "feed_lag_entries", 20),
        ]

        @Test func `each statistic of inbox and outbox has its own metric`() async throws {
            try await Installation.lend { installation in
                // Without events, there are no times of events.
                let idle = try await metrics(in: installation)
                for name in ["oldest_unsettled", "oldest_due", "last_notification", "outbox_oldest_call"] {
                    #expect(idle.value("appstore_inbox_\(name)_timestamp_seconds") == nil, "\(name)")
                }
                #expect(idle.value("appstore_inbox_outbox_open_calls") == 0)

                let parameters = Self.columns.map { "OUT \($0.name) \($0.type)" }.joined(separator: ", ")
                let answers = Self.columns.map { "\($0.answer)::\($0.type)" }.joined(separator: ", ")
                try await installation.sql.execute(
                    """
                    CREATE OR REPLACE FUNCTION appstore.inbox_statistics(\(unsafeRaw: parameters)) LANGUAGE sql STABLE
                    AS $$ SELECT \(unsafeRaw: answers) $$
                    """
                )
                try await installation.sql.execute(
                    """
                    INSERT INTO appstore.outbox (kind, call_key, bundle_id, payload, asked_at, run_at, deadline_at)
                    SELECT 'verify_receipt', n::text, 'com.example.tides', '\\x01', now() - n * interval '100 s', now() + interval '1 day',
                           now() + interval '2 days'
                    FROM generate_series(1, 21) AS n
                    """
                )
                let metrics = try await metrics(in: installation)
                let time = try #require(metrics.value("appstore_inbox_statistics_timestamp_seconds"))
                #expect(abs(time - Date.now.timeIntervalSince1970) < 60)
                for column in Self.columns {
                    let value = metrics.value("appstore_inbox_\(column.metric)")
                    let isTime = column.metric.hasSuffix("_timestamp_seconds")
                    // Within the precision of a number of this size.
                    let found = isTime ? value.map { ((time - $0) * 1000).rounded() / 1000 } : value
                    #expect(found == column.number, "\(column.metric)")
                }
                #expect(metrics.value("appstore_inbox_outbox_open_calls") == 21)
                let oldest = time - (try #require(metrics.value("appstore_inbox_outbox_oldest_call_timestamp_seconds")))
                #expect(oldest >= 2100 && oldest < 2400)
            }
        }

        /// The columns of `appstore.storage_statistics()` in order, each with distinct values.
        private static let storage: [(name: String, type: String, answer: String)] = [
            ("database_bytes", "bigint", "101"), ("inbox_bytes", "bigint", "102"), ("outcome_bytes", "bigint", "103"),
            ("ledger_bytes", "bigint", "104"), ("rest_bytes", "bigint", "105"), ("parents", "text[]", "'{inbox}'"),
            ("partitions", "bigint[]", "'{106}'"), ("tables", "text[]", "'{contracts,orders}'"), ("live_rows", "bigint[]", "'{107,108}'"),
            ("dead_rows", "bigint[]", "'{109,110}'"), ("slots", "text[]", "'{standby}'"), ("slot_bytes", "bigint[]", "'{111}'"),
            ("database_age", "bigint", "112"), ("oldest_table", "text", "'orders'"), ("table_age", "bigint", "113"),
            ("freeze_max_age", "bigint", "114"), ("locks_held", "bigint", "115"), ("lock_slots", "bigint", "116"),
            ("checkpoints_timed", "bigint", "117"), ("checkpoints_requested", "bigint", "118"),
        ]
        private static let storageMetrics: [(name: String, labels: [String: String], value: Double)] = [
            ("database_bytes", [:], 101), ("schema_bytes", ["part": "inbox"], 102), ("schema_bytes", ["part": "outcomes"], 103),
            ("schema_bytes", ["part": "ledger"], 104), ("rest_partition_bytes", [:], 105),
            ("table_live_rows", ["table": "contracts"], 107), ("table_live_rows", ["table": "orders"], 108),
            ("table_dead_rows", ["table": "contracts"], 109), ("table_dead_rows", ["table": "orders"], 110),
            ("replication_slot_bytes", ["slot": "standby"], 111), ("database_age_transactions", [:], 112),
            ("oldest_table_age_transactions", [:], 113), ("freeze_max_age_transactions", [:], 114), ("locks_held", [:], 115),
            ("lock_slots", [:], 116), ("checkpoints_total", ["cause": "timed"], 117), ("checkpoints_total", ["cause": "requested"], 118),
        ]

        @Test func `each statistic of the storage has its own metric`() async throws {
            try await Installation.lend { installation in
                let real = try await metrics(in: installation)
                #expect(real.value("appstore_inbox_rest_partition_bytes") == 0)
                for metric in Self.storageMetrics where metric.labels["slot"] == nil && metric.labels["table"] == nil {
                    #expect(real.value("appstore_inbox_" + metric.name, metric.labels) != nil, "\(metric.name)")
                }
                let parameters = Self.storage.map { "OUT \($0.name) \($0.type)" }.joined(separator: ", ")
                let answers = Self.storage.map { "\($0.answer)::\($0.type)" }.joined(separator: ", ")
                try await installation.sql.execute(
                    """
                    CREATE OR REPLACE FUNCTION appstore.storage_statistics(\(unsafeRaw: parameters)) LANGUAGE sql STABLE
                    AS $$ SELECT \(unsafeRaw: answers) $$
                    """
                )
                let made = try await metrics(in: installation)
                for metric in Self.storageMetrics {
                    #expect(made.value("appstore_inbox_" + metric.name, metric.labels) == metric.value, "\(metric)")
                }
            }
        }

        /// The metrics of a new worker.
        private func metrics(in installation: Installation) async throws -> ExposedMetrics {
            let admin = HTTPClient(port: FreePort.find())
            let worker = try await installation.startWorker([
                "APPSTORE_INBOX_APPS": "com.example.tides", "APPSTORE_INBOX_WORKER_ADMIN_LISTEN": "127.0.0.1:\(admin.port)",
            ])
            let metrics = try await eventually("the numbers of inbox, outbox and storage have been read") { () -> ExposedMetrics? in
                let metrics = try ExposedMetrics(String(decoding: try await admin.get("/metrics").body, as: UTF8.self))
                let isRead =
                    metrics.value("appstore_inbox_statistics_up") == 1 && metrics.value("appstore_inbox_outbox_open_calls") != nil
                    && metrics.value("appstore_inbox_database_bytes") != nil
                return isRead ? metrics : nil
            }
            #expect(try await worker.terminate() == .exit(0))
            return metrics
        }
    }
}
