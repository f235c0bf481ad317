import FoundationEssentials
import InboxQueue
import Postgres
import SQL

/// What reading Apple's notification history costs, of an app with a record of each customer.
extension PlanCase {
    static let reading: [PlanCase] = [
        PlanCase(
            "lease_history_windows",
            as: "appstore_worker",
            before: "\(window) UPDATE appstore.history_windows SET is_leased = false, run_at = now();"
        ) {
            pool,
            _ in
            let statement = Statement.leaseHistoryWindows(bundleIDs: ["b"], environments: ["Production"], near: 2, days: 6, seconds: 120)
            let rows = try await pool.withConnection { try await $0.query(statement) }
            guard rows.count == 1 else { throw WrongCount(found: rows.count) }
        },
        PlanCase("store_history_page", as: "appstore_worker", of: 20, before: window) { pool, _ in
            let uuids = (0..<20).map { _ in UUID() }
            let dates = uuids.map { _ in PostgresTimestamp(millisecondsSince1970: 1_790_000_000_000) }
            let statement = Statement.storeHistoryPage(
                windowID: 1,
                epoch: 1,
                seconds: 120,
                token: "next",
                uuids: uuids,
                signedAt: dates,
                firstAttemptAt: dates,
                lastAttemptAt: dates,
                attempts: uuids.map { _ in Int32(1) },
                lastResults: uuids.map { _ in "TIMED_OUT" },
                succeeded: uuids.map { _ in false },
                bodies: uuids.map { _ in Array("{}".utf8) }
            )
            let stored = try await pool.withConnection {
                try await $0.query(statement)[0].decode(0, as: Int32?.self)
            }
            guard stored == 20 else { throw WrongCount(found: Int(stored ?? -1)) }
        },
        // A step reads a thousand records, another two thousand outcomes.
        PlanCase("classify_history", as: "appstore_worker", of: 50, pages: 300) { pool, _ in
            _ = try await pool.withConnection { try await $0.query(.classifyHistory(after: 0)) }
        },
        PlanCase("compare_history_window", as: "appstore_worker", of: 50, entries: 200, pages: 300, before: "\(window) \(read)") {
            pool,
            _ in
            let statement = Statement.compareHistoryWindow(windowID: 1, epoch: 1, seconds: 120)
            let isDone = try await pool.withConnection {
                try await $0.query(statement)[0].decode(0, as: Bool?.self)
            }
            guard isDone != nil else { throw WrongCount(found: 0) }
        },
        PlanCase("history_statistics", as: "appstore_worker") { pool, _ in
            _ = try await pool.withConnection { try await $0.query(.historyStatistics()) }
        },
        PlanCase("expire_history", as: "appstore_worker", of: 50, before: aged) { pool, _ in
            let rows = try await pool.withConnection { try await MaintenanceTask.ageHistory.step(on: $0)?.rows } ?? 0
            guard rows >= 20 else { throw WrongCount(found: rows) }
        },
    ]

    /// The one window, leased.
    private static let window = """
        INSERT INTO appstore.history_cursors (bundle_id, environment, since, anchor, near_until, second_until)
        VALUES ('b', 'Production', now() - interval '30 days', now(), now(), now()) ON CONFLICT DO NOTHING;
        DELETE FROM appstore.history_windows;
        INSERT INTO appstore.history_windows (window_id, bundle_id, environment, kind, starts_at, ends_at, epoch, is_leased) OVERRIDING SYSTEM VALUE
        VALUES (1, 'b', 'Production', 'day', now() - interval '2 days', now() - interval '1 day', 1, true);
        """
    /// It is the second walk of the days on which everything was settled.
    private static let read = """
        UPDATE appstore.history_windows SET kind = 'second', is_read = true, starts_at = now() - interval '200 days';
        """
    private static let aged = """
        UPDATE appstore.history_records SET listed_at = now() - interval '31 days', is_open = false
        WHERE notification_uuid IN (SELECT notification_uuid FROM appstore.history_records ORDER BY listed_at DESC LIMIT 20);
        """
}
