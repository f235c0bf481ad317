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
                        "SELECT * FROM appstore.user_orders WHERE user_id = \("user \(customer)") AND ordered_at IS NOT NULL"
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
        repair("requeue by reason", #"{"result": "rejected", "reason": "sought"}"#, entries: 20, before: setResult(4, "rejected")),
        // Reads each outcome that was settled since, and bodies only of matching ones.
        repair(
            "requeue by type, app and time",
            #"{"notification_type": "SOUGHT", "environment": "Production", "bundle_id": "sought", "received_from": "yesterday"}"#,
            entries: 24,
            before: setResult(5, "applied")
        ),
        PlanCase(
            "count by reason",
            as: "appstore_operator",
            of: 1000,
            entries: 20,
            pages: 40,
            before: setResult(6, "rejected"),
            warmUps: 0
        ) { pool, _ in
            let counted = try await pool.withConnection {
                try await $0.query("SELECT events FROM appstore.requeue(result => 'rejected', reason => 'sought', dry_run => true)")
            }
            #expect(try counted[0].decode("events", as: Int64.self) == 1000)
        },
        // The most outcomes that a search checks.
        PlanCase("find_events in vain", as: "appstore_operator", of: 10_000, entries: 3, pages: 3, warmUps: 0) { pool, _ in
            let rows = try await pool.withConnection { connection in
                try await connection.query(
                    """
                    SELECT e.is_cut FROM appstore.find_events(
                        jsonb_populate_record(NULL::appstore.repair_filter, '{"subtype": "in_vain"}')) AS e
                    """
                )
            }
            #expect(try rows.map { try $0.decode("is_cut", as: Bool.self) } == [true])
        },
    ]

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
