import InboxTesting
import Postgres
import PostgresTesting

/// A database with made-up contracts of one app, in which a test takes steps of the reconciliation at the times that it says.
struct ReconcileScene: Sendable {
    static let app = "com.example.app"

    let database: TestDatabase

    static func with(_ body: (ReconcileScene) async throws -> Void) async throws {
        let scene = ReconcileScene(database: try await InboxDatabase.make())
        try await scene.run(
            """
            CREATE FUNCTION public.contract(id text, change jsonb DEFAULT '{}', environment appstore.environment DEFAULT 'Production') RETURNS void
            LANGUAGE sql AS $$
                INSERT INTO appstore.transactions (environment, transaction_id, original_transaction_id, bundle_id, product_id, product_type,
                    purchase_date, expires_date, signed_date, payload_hash, first_signed_date, period_no, is_subscription)
                SELECT environment, id || '.1', id, 'com.example.app', 'p', 'Auto-Renewable Subscription', '2025-12-01',
                       coalesce((change ->> 'current_period_end')::timestamptz, '2026-01-01T00:00:00Z'), '2025-12-01', '\\x01', '2025-12-01',
                       gen_random_uuid(), true;
                INSERT INTO appstore.contracts
                SELECT (jsonb_populate_record(NULL::appstore.contracts, jsonb_build_object(
                    'environment', environment, 'original_transaction_id', id, 'bundle_id', 'com.example.app', 'product_id', 'p',
                    'product_type', 'Auto-Renewable Subscription', 'status', 1, 'will_renew', true, 'is_contested', false, 'is_unowned', false,
                    'current_transaction_id', id || '.1', 'current_period_start', '2025-12-01T00:00:00Z',
                    'current_period_end', '2026-01-01T00:00:00Z', 'access_until', '2026-01-01T00:00:00Z',
                    'renewal_signed_date', '2025-12-01T00:00:00Z', 'renewal_hash', '\\x01') || change)).*
            $$;
            CREATE FUNCTION public.event(id bigint, contract text, source text, at timestamptz, result text DEFAULT 'applied') RETURNS void
            LANGUAGE sql AS $$
                INSERT INTO appstore.outcomes (event_id, source, received_at, settled_at, run, attempts, result, reason, environment, bundle_id,
                                               original_transaction_id)
                VALUES (id, source, at, at, 1, 1, result::appstore.result, 'by_test', 'Production', 'com.example.app', contract)
            $$
            """
        )
        try await body(scene)
    }

    /// Runs a script as the superuser.
    func run(_ script: String) async throws {
        try await database.withConnection { try await $0.runScript(script) }
    }

    /// Adds a contract whose period ended at 2026-01-01T00:00:00Z and was to renew, unless the members say otherwise.
    func contract(_ id: String, _ members: String = "", environment: String = "Production") async throws {
        try await run("SELECT public.contract('\(id)', '{\(members)}', '\(environment)')")
    }

    /// Takes a step so many hours after the beginning of 2026 and returns the questions that it wrote, `rule contract`, in order.
    @discardableResult
    func step(
        _ hours: Double,
        sample: Int = 0,
        bundles: String = app,
        environments: String = "Production"
    ) async throws -> [String] {
        try await database.withConnection { try await Self.step(hours, sample: sample, bundles, environments, on: $0) }
    }

    private static func step(_ hours: Double, sample: Int, _ bundles: String, _ environments: String, on connection: Connection)
        async throws
        -> [String]
    {
        let instant = "'2026-01-01T00:00:00Z'::timestamptz + \(hours) * interval '1 hour'"
        try await connection.runScript("SELECT appstore.reconcile('{\(bundles)}', '{\(environments)}', \(sample), \(instant))")
        let rows = try await connection.query(
            """
            SELECT rule || ' ' || original_transaction_id FROM appstore.reconcile_questions WHERE asked_at = \(unsafeRaw: instant) ORDER BY 1
            """
        )
        return try rows.map { try $0.decode(0, as: String.self) }
    }

    /// Takes steps at these hours, with each call answered before the next one, and returns those hours at which something was asked.
    func askedHours(_ hours: some Sequence<Double> & Sendable, sample: Int = 0, isAnswered: Bool = true) async throws -> [Double] {
        try await database.withConnection { connection in
            var asked: [Double] = []
            for hour in hours {
                let questions = try await Self.step(hour, sample: sample, Self.app, "Production", on: connection)
                if !questions.isEmpty { asked.append(hour) }
                try await connection.runScript(isAnswered ? Self.answers : Self.refusal)
            }
            return asked
        }
    }

    private static let refusal = """
        UPDATE appstore.outbox SET state = 'refused', reason = 'by_test', settled_at = run_at WHERE state = 'open'
        """

    func refuseCalls() async throws {
        try await run(Self.refusal)
    }

    /// Answers that name the contracts, and change nothing.
    private static let answers = """
        UPDATE appstore.outbox SET state = 'answered', settled_at = run_at, answer_event_id = 1000000 WHERE state = 'open';
        INSERT INTO appstore.outcomes (event_id, source, received_at, settled_at, run, attempts, result, environment, original_transaction_id,
                                       transaction_id)
        SELECT 1000000 + q.question_id, CASE q.rule WHEN 'revoked_doubt' THEN 'transaction_info' ELSE 'subscription_status' END, q.asked_at,
               q.asked_at, 1, 1, 'superseded', q.environment::text, q.original_transaction_id, q.transaction_id
        FROM appstore.reconcile_questions AS q WHERE q.result IS NULL
        """

    func answerCalls() async throws {
        try await run(Self.answers)
    }

    /// Begins another period of a contract, after a missing one or the one of ``contract(_:_:environment:)``.
    func renew(_ id: String, from start: String, to end: String) async throws {
        try await run(
            """
            INSERT INTO appstore.transactions (environment, transaction_id, original_transaction_id, bundle_id, product_id, product_type,
                purchase_date, expires_date, signed_date, payload_hash, first_signed_date, period_no, is_subscription)
            SELECT 'Production', '\(id).2', '\(id)', 'com.example.app', 'p', 'Auto-Renewable Subscription', '\(start)', '\(end)', '\(start)',
                   '\\x01', '\(start)', gen_random_uuid(), true;
            UPDATE appstore.contracts
            SET current_transaction_id = '\(id).2', current_period_start = '\(start)', current_period_end = '\(end)', access_until = '\(end)'
            WHERE original_transaction_id = '\(id)'
            """
        )
    }

    /// Records Apple's request about a refund of a charge, which came so many hours after the beginning of 2026.
    func askAboutRefund(of charge: String, contract: String, at hours: Double) async throws {
        try await run(
            """
            INSERT INTO appstore.consumption_obligations (environment, transaction_id, original_transaction_id, asked_at, due_at)
            SELECT 'Production', '\(charge)', '\(contract)', asked.at, asked.at + interval '12 hours'
            FROM (SELECT '2026-01-01T00:00:00Z'::timestamptz + \(hours) * interval '1 hour' AS at) AS asked
            """
        )
    }
}
