import InboxQueue
import OpenSSL
import Postgres
import PostgresTesting
import Testing

/// Commands of the shop and of operators, and maintenance.
extension PlanCase {
    static let selling: [PlanCase] = [
        .statement("create_order", as: "appstore_backend") { "SELECT appstore.create_order(\("user \($0)"), 'p')" },
        .statement("create_order that a charge names", as: "appstore_backend", pages: 200) {
            "SELECT appstore.create_order(\("user \($0)"), 'p', \(PlanScene.token($0 + PlanScene.unordered)))"
        },
        .statement("set_user_token", as: "appstore_backend") { "SELECT appstore.set_user_token(gen_random_uuid(), \("user \($0)"))" },
        // Other customers than those whose orders are made.
        .statement("set_user_token that a charge names", as: "appstore_backend", pages: 200) {
            "SELECT appstore.set_user_token(\(PlanScene.token($0 + 20 + PlanScene.unordered)), \("user \($0)"))"
        },
        .statement("api_set_user_token", as: "appstore_api") {
            "SELECT appstore.api_set_user_token(\(keyHash($0)), gen_random_uuid(), \("user \($0)"))"
        },
        // Of a user who posted it, and of one who only bought.
        .statement("api_app_transactions", as: "appstore_api") {
            "SELECT * FROM appstore.api_app_transactions(\(keyHash($0)), 'Production', \("user \($0)"))"
        },
        .statement("user_app_transactions", as: "appstore_backend") {
            "SELECT * FROM appstore.user_app_transactions WHERE user_id = \("user \($0)")"
        },
        .statement("app_transaction_user", as: "appstore_operator") {
            "SELECT appstore.app_transaction_user('Production', \("app \($0)"))"
        },
        .statement("link_owner", as: "appstore_backend") {
            "SELECT appstore.link_owner('Production', \("\($0)"), \("new user \($0)"))"
        },
        PlanCase("link_owner, then unlink_owner", as: "appstore_operator", entries: 120) { pool, keys in
            for customer in keys {
                try await pool.withConnection { connection in
                    _ = try await connection.query(
                        "SELECT appstore.link_owner('Production', \("\(customer)"), \("other user \(customer)"))"
                    )
                    _ = try await connection.query("SELECT appstore.unlink_owner('Production', \("\(customer)"))")
                }
            }
        },
        PlanCase(
            "answer_consumption, then another answer",
            as: "appstore_backend",
            entries: 120,
            before: """
                UPDATE appstore.consumption_obligations SET asked_at = now(), due_at = now() + interval '12 hours'
                WHERE transaction_id::bigint <= 30
                """
        ) { pool, keys in
            for customer in keys {
                for preference in ["DECLINE", "GRANT_FULL"] {
                    _ = try await pool.withConnection { connection in
                        try await connection.query(
                            """
                            SELECT appstore.answer_consumption('Production', \("\(customer)"), true, 'DELIVERED', false,
                                                               preference => \(preference), evidence => 'terms')
                            """
                        )
                    }
                }
            }
        },
        .statement("consumption_answered", as: "appstore_backend") { "SELECT appstore.consumption_answered('Production', \("\($0)"))" },
        .statement("give_consent", as: "appstore_backend") { "SELECT appstore.give_consent(\("new user \($0)"), 'terms')" },
        .statement("withdraw_consent", as: "appstore_backend") { "SELECT appstore.withdraw_consent(\("user \($0)"))" },
        .statement("api_create_order", as: "appstore_api") {
            "SELECT result FROM appstore.api_create_order(\(keyHash($0)), \("user \($0)"), 'p', NULL::uuid, NULL::text)"
        },
        .statement("api_link_owner", as: "appstore_api") {
            "SELECT appstore.api_link_owner(\(keyHash($0)), 'Production', \("\($0)"), \("newer user \($0)"))"
        },
    ]

    static let asking: [PlanCase] = [
        .statement("api_consumption of a transaction", as: "appstore_api") {
            "SELECT * FROM appstore.api_consumption(\(keyHash($0)), 'Production', \("\($0)"), NULL, 1)"
        },
        .statement("api_consumption", as: "appstore_api", entries: 200, pages: 500) {
            "SELECT * FROM appstore.api_consumption(\(keyHash($0)), 'Production', NULL, NULL, 10)"
        },
        .statement("api_key", as: "appstore_api") { "SELECT key_id FROM appstore.api_key(\(keyHash($0)))" },
        .statement("api_event", as: "appstore_api") { "SELECT result FROM appstore.api_event(\(keyHash($0)), \(Int64($0)), false)" },
        .statement("api_event with its submission", as: "appstore_api") {
            "SELECT submission FROM appstore.api_event(\(keyHash($0)), \(Int64($0)), true)"
        },
        .statement("api_order", as: "appstore_api") {
            "SELECT status FROM appstore.api_order(\(keyHash($0)), 'Production', \(PlanScene.token($0 + PlanScene.unordered)))"
        },
        .statement("api_user_orders", as: "appstore_api") {
            """
            SELECT status FROM appstore.api_user_orders(
                \(keyHash($0)), 'Production', \("user \($0)"), NULL::text, NULL::text, NULL::timestamptz, NULL::uuid, 50)
            """
        },
        .statement("order_status of an order", as: "appstore_backend") {
            "SELECT status FROM appstore.order_status WHERE environment = 'Production' AND order_no = \(PlanScene.token($0))"
        },
        .statement("user_orders of a user", as: "appstore_backend") {
            "SELECT status FROM appstore.user_orders WHERE environment = 'Production' AND user_id = \("user \($0)")"
        },
        .statement("effects of a contract", as: "appstore_backend") {
            """
            SELECT kind, order_no FROM appstore.effects
            WHERE environment = 'Production' AND original_transaction_id = \("\($0)") ORDER BY occurred_at
            """
        },
        .statement("api_entitlements", as: "appstore_api") {
            "SELECT active FROM appstore.api_entitlements(\(keyHash($0)), 'Production', \("user \($0)"))"
        },
        .statement("api_subscription", as: "appstore_api") {
            "SELECT active FROM appstore.api_subscription(\(keyHash($0)), 'Production', \("\($0)"))"
        },
        .statement("api_receipt_charges", as: "appstore_api") {
            "SELECT owner FROM appstore.api_receipt_charges(\(keyHash($0)), 'Production', \(["\($0)"]), \("user \($0)"))"
        },
        .statement("api_receipt_question", as: "appstore_api") {
            "SELECT is_open FROM appstore.api_receipt_question(\(keyHash($0)), \("2 \($0)"))"
        },
        .statement("entitlements of a user", as: "appstore_backend") {
            "SELECT active FROM appstore.entitlements WHERE environment = 'Production' AND user_id = \("user \($0)")"
        },
        .statement("timeline", as: "appstore_viewer") { "SELECT what FROM appstore.timeline('Production', \("\($0)"))" },
        .statement("explain", as: "appstore_viewer") { "SELECT appstore.explain(\(Int64($0)))" },
        .statement("explain_customer of a user", as: "appstore_viewer", entries: 120, pages: 400) {
            "SELECT appstore.explain_customer(\("user \($0)"))"
        },
        // Events are settled a second after another: one of each instant.
        PlanCase("find_events, the oldest first", as: "appstore_viewer", of: 20) { pool, keys in
            _ = try await pool.withConnection { connection in
                try await connection.query(
                    """
                    SELECT e.event_id FROM appstore.find_events(
                        oldest_first => true, max_rows => 20,
                        after_at => (SELECT o.settled_at FROM appstore.outcomes AS o WHERE o.event_id = \(Int64(keys.lowerBound)))) AS e
                    """
                )
            }
        },
        .statement("inbox_status of an event", as: "appstore_viewer") {
            "SELECT state FROM appstore.inbox_status WHERE event_id = \(Int64($0))"
        },
    ]

    static let repairing: [PlanCase] = [
        .statement("requeue of an event", as: "appstore_operator") { "SELECT appstore.requeue_event(\(Int64($0)))" },
        .statement("discard of an event", as: "appstore_operator") {
            "SELECT appstore.discard_event(\(Int64(PlanScene.waiting + $0)), 'by test')"
        },
        // Each repair takes one step of a thousand events.
        repair("requeue step", #"{"result": "failed"}"#, entries: 8),
        repair("discard step", #"{"result": "failed"}"#, by: "discard", entries: 8),
        // An incident: the wanted events arrived last.
        repair("requeue by result", #"{"result": "unhandled"}"#, entries: 8, before: incident(1)),
        repair("discard by result", #"{"result": "unhandled"}"#, by: "discard", entries: 8, before: incident(2)),
        // Counts up to ten thousand rows of a kind.
        PlanCase(
            "inbox_statistics",
            as: "appstore_worker",
            entries: 31_000,
            pages: 10_000,
            before: "VACUUM appstore.inbox_queue"
        ) { pool, _ in
            _ = try await pool.withConnection { try await $0.query("SELECT ready FROM appstore.inbox_statistics()") }
        },
        .statement("forget", as: "appstore_operator") { "SELECT alias FROM appstore.forget(\("user \($0)"))" },
    ]

    /// The hash of a customer's key, which permits everything.
    static func keyHash(_ customer: Int) -> [UInt8] { Digest.sha256(Array("\(customer)".utf8)) }

    /// A repair of a thousand events: its beginning and its steps.
    static func repair(
        _ name: String,
        _ filter: String,
        by action: String = "requeue",
        entries: Int64,
        before: String? = nil
    ) -> PlanCase {
        // No step is taken while a thousand events are due.
        let calm = "UPDATE appstore.inbox_queue SET run_at = now() + interval '1 hour' WHERE run_at <= now();"
        return PlanCase(
            name,
            as: "appstore_operator",
            of: 1000,
            entries: entries,
            pages: 40,
            before: (before ?? "") + calm,
            warmUps: 0
        ) { pool, _ in
            try await pool.withConnection { connection in
                let begun = try await connection.query(
                    """
                    SELECT r.repair_id, r.events FROM appstore.begin_repair(
                        \(action), jsonb_populate_record(NULL::appstore.repair_filter, \(JSONText(filter))), 'by test', 1000) AS r
                    """
                )
                #expect(try begun[0].decode("events", as: Int64.self) == 1000, "\(name)")
                // One step, unless PostgreSQL has cancelled it: workers take that again, too.
                let status = try await eventually("\(name) ended") {
                    _ = try await connection.query("SELECT FROM appstore.take_repair_step()")
                    let rows = try await connection.query(
                        """
                        SELECT to_jsonb(r)::text AS status FROM appstore.repair_status AS r
                        WHERE r.repair_id = \(try begun[0].decode("repair_id", as: Int64.self)) AND r.state <> 'running'
                        """
                    )
                    return try rows.first?.decode("status", as: String.self)
                }
                #expect(status.contains(#""repaired": 1000,"#), "\(name): \(status)")
            }
        }
    }

    /// Makes the nth thousand of events from the end unhandled.
    private static func incident(_ nth: Int) -> String {
        """
        UPDATE appstore.outcomes SET result = 'unhandled', reason = 'by_test', settled_at = now()
        WHERE event_id > \(1_000_020_000 - nth * 1000) AND event_id <= \(1_000_021_000 - nth * 1000);
        """
    }

    static let ageing: [PlanCase] = [
        PlanCase("age rejected bodies", as: "appstore_worker", of: 500, entries: 10) { pool, _ in
            try await take(.ageRejectedBodies, in: pool)
        },
        PlanCase("age rejected outcomes", as: "appstore_worker", of: 500, entries: 10) { pool, _ in
            try await take(.ageRejectedOutcomes, in: pool)
        },
        PlanCase("age bodies in the net", as: "appstore_worker", of: 500, entries: 10) { pool, _ in
            try await take(.ageDefaultBodies, in: pool)
        },
        PlanCase("age outcomes", as: "appstore_worker", of: 500, entries: 10) { pool, _ in try await take(.ageDefaultOutcomes, in: pool) },
        PlanCase("prepare partitions", as: "appstore_worker") { pool, _ in try await take(.preparePartitions, in: pool) },
        // The last case: it drops the bodies of all customers.
        PlanCase(
            "drop a partition",
            as: "appstore_worker",
            of: 20_000,
            entries: 3,
            pages: 5,
            before: "UPDATE appstore.retention SET bodies = '30 days'",
            warmUps: 0
        ) { pool, _ in
            try await take(.dropPartition, in: pool)
        },
    ]

    private static func take(_ task: MaintenanceTask, in pool: ConnectionPool) async throws {
        _ = try await pool.withConnection { try await task.step(on: $0) }
    }
}
