import Inbox
import Postgres
import Testing

/// What the shop and its operators ask for, and what maintenance does.
extension PlanCase {
    static let selling: [PlanCase] = [
        .statement("create_order", as: "appstore_backend") { "SELECT appstore.create_order(\("user \($0)"), 'p')" },
        .statement("create_order that a charge names", as: "appstore_backend") {
            "SELECT appstore.create_order(\("user \($0)"), 'p', \(PlanScene.token($0 + PlanScene.unordered)))"
        },
        .statement("link_owner", as: "appstore_backend") {
            "SELECT appstore.link_owner('Production', \("\($0)"), \("new user \($0)"))"
        },
        .statement("consumption_answered", as: "appstore_backend") { "SELECT appstore.consumption_answered('Production', \("\($0)"))" },
        .statement("api_create_order", as: "appstore_api") {
            "SELECT result FROM appstore.api_create_order(\("user \($0)"), 'p', NULL::uuid, NULL::text)"
        },
        .statement("api_link_owner", as: "appstore_api") {
            "SELECT appstore.api_link_owner('Production', \("\($0)"), \("newer user \($0)"), ARRAY['b'], 1)"
        },
    ]

    static let asking: [PlanCase] = [
        .statement("api_key", as: "appstore_api") { "SELECT key_id FROM appstore.api_key(sha256(\(Array("\($0)".utf8))))" },
        .statement("api_event", as: "appstore_api") { "SELECT outcome FROM appstore.api_event(\(Int64($0)), false)" },
        .statement("api_event with its submission", as: "appstore_api") { "SELECT submission FROM appstore.api_event(\(Int64($0)), true)" },
        .statement("api_entitlements", as: "appstore_api") {
            "SELECT active FROM appstore.api_entitlements('Production', \("user \($0)"), NULL::text[])"
        },
        .statement("api_entitlements of an app", as: "appstore_api") {
            "SELECT active FROM appstore.api_entitlements('Production', \("user \($0)"), ARRAY['b'])"
        },
        .statement("api_subscription", as: "appstore_api") {
            "SELECT active FROM appstore.api_subscription('Production', \("\($0)"), ARRAY['b'])"
        },
        .statement("api_receipt_charges", as: "appstore_api") {
            "SELECT owner FROM appstore.api_receipt_charges('Production', \(["\($0)"]), \("user \($0)"), ARRAY['b'])"
        },
        .statement("api_receipt_question", as: "appstore_api") {
            "SELECT is_open FROM appstore.api_receipt_question(\("2 \($0)"))"
        },
        .statement("entitlements of a user", as: "appstore_backend") {
            "SELECT active FROM appstore.entitlements WHERE environment = 'Production' AND user_id = \("user \($0)")"
        },
        .statement("timeline", as: "appstore_viewer") { "SELECT what FROM appstore.timeline('Production', \("\($0)"))" },
        .statement("inbox_status of an event", as: "appstore_viewer") {
            "SELECT state FROM appstore.inbox_status WHERE event_id = \(Int64($0))"
        },
    ]

    static let repairing: [PlanCase] = [
        .statement("requeue of an event", as: "appstore_operator") { "SELECT appstore.requeue(\(Int64($0)))" },
        .statement("discard of an event", as: "appstore_operator") {
            "SELECT appstore.discard(\(Int64(PlanScene.waiting + $0)), 'by test')"
        },
        PlanCase("requeue step", as: "appstore_worker", of: 1000, entries: 8, pages: 20, before: request("requeue"), warmUps: 0) {
            pool,
            _ in
            try await take(.repair, in: pool)
        },
        PlanCase("discard step", as: "appstore_worker", of: 1000, entries: 8, pages: 20, before: request("discard"), warmUps: 0) {
            pool,
            _ in
            try await take(.repair, in: pool)
        },
        // An incident: what is looked for came in last.
        PlanCase("requeue by outcome", as: "appstore_operator", of: 1000, entries: 8, pages: 20, before: incident(1), warmUps: 0) {
            pool,
            _ in
            try await take(1000, by: "SELECT appstore.requeue(outcome => 'unhandled')", in: pool)
        },
        PlanCase("count by outcome", as: "appstore_operator", of: 1000, entries: 8, pages: 20, before: incident(2), warmUps: 0) {
            pool,
            _ in
            try await take(1000, by: "SELECT appstore.requeue(outcome => 'unhandled', dry_run => true)", in: pool)
        },
        PlanCase("discard by outcome", as: "appstore_operator", of: 1000, entries: 8, pages: 40, warmUps: 0) { pool, _ in
            try await take(1000, by: "SELECT appstore.discard('by test', outcome => 'unhandled')", in: pool)
        },
        // It counts every outcome that fits.
        PlanCase("request_repair", as: "appstore_operator", of: 1000, entries: 8, whole: ["outcomes"], before: incident(3), warmUps: 0) {
            pool,
            _ in
            let repair: Statement = "SELECT appstore.request_repair('discard', '{\"outcome\": \"unhandled\"}', 'by test')"
            _ = try await pool.withConnection { try await $0.query(repair) }
        },
        // It counts up to ten thousand of a kind.
        PlanCase(
            "inbox_statistics",
            as: "appstore_worker",
            entries: 31_000,
            pages: 10_000,
            before: "VACUUM appstore.inbox_ready"
        ) { pool, _ in
            _ = try await pool.withConnection { try await $0.query("SELECT ready FROM appstore.inbox_statistics()") }
        },
        // Notes are looked for line by line, and last errors in what waits; reasons in the two thousand events that were discarded before.
        .statement("forget", as: "appstore_operator", entries: 2500, whole: ["audit_log", "inbox_ready"]) {
            "SELECT appstore.forget(\("user \($0)"))"
        },
    ]

    /// A repair that takes, or counts, that many events.
    private static func take(_ count: Int64, by statement: Statement, in pool: ConnectionPool) async throws {
        let taken = try await pool.withConnection { try await $0.query(statement).first?.decode(0, as: Int64.self) }
        #expect(taken == count, "\(statement.sql)")
    }

    /// Of the events that came in last, the nth thousand from the end is unhandled.
    private static func incident(_ nth: Int) -> String {
        """
        UPDATE appstore.outcomes SET result = 'unhandled', reason = 'by_test', settled_at = now()
        WHERE event_id > \(1_000_020_000 - nth * 1000) AND event_id <= \(1_000_021_000 - nth * 1000);
        """
    }

    /// A repair of all events that failed, of which a step can be taken at once.
    private static func request(_ action: String) -> String {
        """
        DELETE FROM appstore.repairs;
        INSERT INTO appstore.repairs (action, filter, note, requested_at, requested_by, events_expected, last_event_id, next_step_at)
        VALUES ('\(action)', '{"outcome": "failed"}', 'by test', now(), 'by_test', 0, 10000000, now());
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
        PlanCase("age outcomes", as: "appstore_worker", of: 500, entries: 10) { pool, _ in try await take(.ageOutcomes, in: pool) },
        PlanCase("prepare partitions", as: "appstore_worker") { pool, _ in try await take(.preparePartitions, in: pool) },
        // The last: it takes the bodies of all customers.
        PlanCase(
            "drop a partition",
            as: "appstore_worker",
            of: 20_000,
            entries: 3,
            pages: 5,
            before: "DELETE FROM appstore.repairs",
            warmUps: 0
        ) { pool, _ in
            try await take(.dropPartition, in: pool)
        },
    ]

    private static func take(_ task: MaintenanceTask, in pool: ConnectionPool) async throws {
        _ = try await pool.withConnection { try await task.step(on: $0) }
    }
}
