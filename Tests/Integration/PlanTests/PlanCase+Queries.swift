import Postgres
import Testing

/// The first queries of the README, and repairs of a few events among many.
extension PlanCase {
    /// As psql sends them: planned each time.
    static let queries: [PlanCase] = [
        PlanCase("newest of inbox_status", as: "appstore_viewer", entries: 150, pages: 1000, warmUps: 0) { pool, _ in
            let rows = try await pool.withConnection {
                try await $0.query("SELECT * FROM appstore.inbox_status ORDER BY event_id DESC LIMIT 50")
            }
            #expect(rows.count == 50)
        },
        PlanCase("orders that the shop made for a user", as: "appstore_viewer", warmUps: 0) { pool, keys in
            for customer in keys {
                let rows = try await pool.withConnection {
                    try await $0.query(
                        "SELECT * FROM appstore.orders WHERE user_id = \("user \(customer)") AND ordered_at IS NOT NULL"
                    )
                }
                #expect(!rows.isEmpty)
            }
        },
        .statement("entitlements of a user at an instant", as: "appstore_backend") {
            "SELECT active FROM appstore.entitlements_at(now()) WHERE environment = 'Production' AND user_id = \("user \($0)")"
        },
    ]

    static let seeking: [PlanCase] = [
        // Reads each outcome with that result once.
        repair(
            "requeue by reason",
            entries: 20,
            before: setResult(4, "rejected"),
            "SELECT appstore.requeue_events(result => 'rejected', reason => 'sought')"
        ),
        // Reads each outcome once, and bodies only of matching ones.
        repair(
            "requeue by type, app and time",
            entries: 75,
            before: setResult(5, "applied"),
            """
            SELECT appstore.requeue_events(notification_type => 'SOUGHT', environment => 'Production', bundle_id => 'sought',
                                    received_from => now() - interval '1 day', received_before => now() + interval '1 day')
            """
        ),
        repair(
            "count by reason",
            entries: 20,
            before: setResult(6, "rejected"),
            "SELECT appstore.requeue_events(result => 'rejected', reason => 'sought', dry_run => true)"
        ),
        // The same events, which were only counted before.
        repair(
            "count of all by reason",
            entries: 8,
            whole: ["outcomes"],
            "SELECT appstore.requeue_events(result => 'rejected', reason => 'sought', dry_run => true, max_events => NULL)"
        ),
        // The most outcomes that a step checks.
        PlanCase("step in vain", as: "appstore_operator", of: 20_000, entries: 3, pages: 3, warmUps: 0) { pool, _ in
            let rows = try await pool.withConnection { connection in
                try await connection.query(
                    """
                    SELECT s.events FROM appstore.repair_step(
                        'discard', jsonb_populate_record(NULL::appstore.repair_filter, '{"reason": "in_vain"}'), 'by test') AS s
                    """
                )
            }
            #expect(try rows.first?.decode("events", as: Int64.self) == 0)
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

    /// Gives the nth thousand of events from the end this result, as received just now.
    private static func setResult(_ nth: Int, _ result: String) -> String {
        """
        UPDATE appstore.outcomes
        SET result = '\(result)', reason = 'sought', notification_type = 'SOUGHT', bundle_id = 'sought', received_at = now(),
            settled_at = now()
        WHERE event_id > \(1_000_020_000 - nth * 1000) AND event_id <= \(1_000_021_000 - nth * 1000);
        """
    }
}
