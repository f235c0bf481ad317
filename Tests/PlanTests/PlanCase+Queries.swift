import Inbox
import Postgres
import Testing

/// What README has operators ask first, and repairs of events that are few among many.
extension PlanCase {
    /// As psql sends it: planned each time.
    static let looking: [PlanCase] = [
        PlanCase("newest of inbox_status", as: "appstore_viewer", entries: 150, pages: 1000, warmUps: 0) { pool, _ in
            let rows = try await pool.withConnection {
                try await $0.query("SELECT * FROM appstore.inbox_status ORDER BY event_id DESC LIMIT 50")
            }
            #expect(rows.count == 50)
        },
        PlanCase("orders of a user", as: "appstore_viewer", warmUps: 0) { pool, keys in
            for customer in keys {
                let rows = try await pool.withConnection {
                    try await $0.query("SELECT * FROM appstore.orders WHERE user_id = \("user \(customer)")")
                }
                #expect(!rows.isEmpty)
            }
        },
    ]

    static let seeking: [PlanCase] = [
        // Each outcome of that result is looked at once.
        repair(
            "requeue by reason",
            entries: 20,
            before: sought(4, "rejected"),
            "SELECT appstore.requeue(outcome => 'rejected', reason => 'sought')"
        ),
        // Each outcome is looked at once, bodies only where it fits.
        repair(
            "requeue by type, app and time",
            entries: 75,
            before: sought(5, "applied"),
            """
            SELECT appstore.requeue(notification_type => 'SOUGHT', environment => 'Production', bundle_id => 'sought',
                                    received_from => now() - interval '1 day', received_before => now() + interval '1 day')
            """
        ),
        repair(
            "count by reason",
            entries: 20,
            before: sought(6, "rejected"),
            "SELECT appstore.requeue(outcome => 'rejected', reason => 'sought', dry_run => true)"
        ),
        // The same events again: they have only been counted.
        repair(
            "count of all by reason",
            entries: 8,
            whole: ["outcomes"],
            "SELECT appstore.requeue(outcome => 'rejected', reason => 'sought', dry_run => true, max_events => NULL)"
        ),
        // It looks at so many outcomes, and once more for where to go on.
        PlanCase("step in vain", as: "appstore_worker", of: 20_000, entries: 3, pages: 3, before: requestInVain, warmUps: 0) { pool, _ in
            let step = try await pool.withConnection { try await MaintenanceTask.repair.step(on: $0) }
            #expect(step?.rows == 0)
        },
    ]

    /// A repair, or a count, of a thousand events.
    private static func repair(
        _ name: String,
        entries: Int64,
        whole: Set<String> = [],
        before: String? = nil,
        _ statement: Statement
    ) -> PlanCase {
        PlanCase(name, as: "appstore_operator", of: 1000, entries: entries, pages: 40, whole: whole, before: before, warmUps: 0) {
            pool,
            _ in
            let count = try await pool.withConnection { try await $0.query(statement).first?.decode(0, as: Int64.self) }
            #expect(count == 1000, "\(name)")
        }
    }

    /// Of the events that came in last, the nth thousand from the end has that result, and came in just now.
    private static func sought(_ nth: Int, _ result: String) -> String {
        """
        UPDATE appstore.outcomes
        SET result = '\(result)', reason = 'sought', notification_type = 'SOUGHT', bundle_id = 'sought', received_at = now(),
            settled_at = now()
        WHERE event_id > \(1_000_020_000 - nth * 1000) AND event_id <= \(1_000_021_000 - nth * 1000);
        """
    }

    /// A repair of events that there are none of, of which a step can be taken at once.
    private static let requestInVain = """
        DELETE FROM appstore.repairs;
        INSERT INTO appstore.repairs (action, filter, note, requested_at, requested_by, events_expected, last_event_id, next_step_at)
        VALUES ('discard', '{"reason": "in_vain"}', 'by test', now(), 'by_test', 0, 10000000, now());
        """
}
