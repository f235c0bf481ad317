import InboxTesting
import Postgres
import PostgresTesting
import Testing

/// What a request costs does not grow with the number of customers, whatever the planner knows of the tables.
struct PlanTests {
    enum Statistics: CaseIterable, Sendable {
        /// The tables have grown since anybody looked.
        case none, stale, current
    }

    static let questions = [
        "appstore.api_entitlements('Production', 'user 77', NULL)", "appstore.api_entitlements('Production', 'user 77', ARRAY['b'])",
        "appstore.api_subscription('Production', '77', ARRAY['b'])", "appstore.api_event(77, false)",
        "appstore.api_key(sha256('77'))", "appstore.api_link_owner('Production', '77', 'a', ARRAY['c'], 1)",
    ]

    @Test(arguments: Statistics.allCases)
    func `each question reads a few pages only`(statistics: Statistics) async throws {
        let database = try await InboxDatabase.make()
        if statistics == .stale { try await database.change("ANALYZE") }
        try await Self.fill(database)
        if statistics == .current { try await database.change("ANALYZE") }
        for question in Self.questions {
            let pages = try await database.lines("SELECT public.pages(\(question))::text")
            #expect(Int(pages.first ?? "") ?? .max < 150, "\(question): \(pages) pages")
        }
    }

    private static func fill(_ database: TestDatabase) async throws {
        try await database.change(
            """
            INSERT INTO appstore.member_contracts (environment, contract_id, user_id, bundle_id, product_id, product_type, access_until)
            SELECT 'Production', n::text, 'user ' || n, 'b', 'p', 'Auto-Renewable Subscription', now() FROM generate_series(1, 20000) AS n
            """
        )
        try await database.change(
            """
            INSERT INTO appstore.transactions (environment, transaction_id, original_transaction_id, bundle_id, product_id, purchase_date,
                                               signed_date, first_signed_date, payload_hash, period_no, is_subscription)
            SELECT 'Production', n::text, n::text, 'b', 'p', now(), now(), now(), '\\x01', gen_random_uuid(), true
            FROM generate_series(1, 20000) AS n
            """
        )
        try await database.change(
            """
            INSERT INTO appstore.inbox (source, received_at, body)
            SELECT 'client_transaction', now(), '\\x01' FROM generate_series(1, 20000)
            """
        )
        try await database.change(
            """
            INSERT INTO appstore.api_keys (name, key_hash, environments, verbs)
            SELECT 'k', sha256(n::text::bytea), '{Production}', '{events:read}' FROM generate_series(1, 20000) AS n
            """
        )
        // The buffers that EXPLAIN counts include those of the statements inside a function.
        try await database.change(
            """
            CREATE FUNCTION public.pages(question text) RETURNS bigint LANGUAGE plpgsql AS $$
            DECLARE
                v_plan json;
            BEGIN
                EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) SELECT * FROM ' || question INTO v_plan;
                EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) SELECT * FROM ' || question INTO v_plan;
                RETURN (v_plan -> 0 -> 'Plan' ->> 'Shared Hit Blocks')::bigint + (v_plan -> 0 -> 'Plan' ->> 'Shared Read Blocks')::bigint;
            END
            $$
            """
        )
    }
}
