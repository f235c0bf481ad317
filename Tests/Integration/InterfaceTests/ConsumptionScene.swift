import InboxTesting
import Postgres
import Testing

/// A ledger with requests of now: Apple asked `hoursAgo` about purchases of anna.
extension TestLedger {
    static func withRequest(
        _ charge: Charge = Charge("coins", "Consumable", "1000", onDay: 0),
        hoursAgo: Double = 1,
        mode: String = "backend",
        isAdvancedCommerce: Bool = false,
        _ body: (TestLedger) async throws -> Void
    ) async throws {
        try await with { ledger in
            try await ledger.put(charge)
            try await ledger.run("SELECT appstore.link_owner('Production', \(charge.contract), 'anna')")
            try await ledger.setPolicy(mode)
            try await ledger.sayNow("asked", of: charge.id, hoursAgo: hoursAgo, isAdvancedCommerce: isAdvancedCommerce)
            try await body(ledger)
        }
    }

    /// The policy of the app; in mode default it answers DELIVERED, consumed by half, DECLINE.
    func setPolicy(_ mode: String, product: String? = nil) async throws {
        try await run(
            """
            INSERT INTO appstore.consumption_policies (bundle_id, product_id, mode, delivery, sample, percentage, preference)
            SELECT 'com.example.app', \(product), \(mode), d.delivery, d.sample, d.percentage, d.preference
            FROM (SELECT) AS always LEFT JOIN (VALUES ('DELIVERED', false, 50000, 'DECLINE')) AS d (delivery, sample, percentage, preference)
                 ON \(mode) = 'default'
            ON CONFLICT ON CONSTRAINT consumption_policies_key DO UPDATE
            SET mode = excluded.mode, delivery = excluded.delivery, sample = excluded.sample, percentage = excluded.percentage,
                preference = excluded.preference
            """,
            as: "appstore_operator"
        )
    }

    func sayNow(_ kind: String, of charge: String = "1000", hoursAgo: Double = 0, isAdvancedCommerce: Bool = false) async throws {
        try await run(Self.statement(kind, of: charge, hoursAgo: hoursAgo, isAdvancedCommerce: isAdvancedCommerce))
        try await run("SELECT appstore.derive_refund_requests('Production', ARRAY[\(charge)])")
    }

    static func statement(_ kind: String, of charge: String, hoursAgo: Double = 0, isAdvancedCommerce: Bool = false) -> Statement {
        """
        INSERT INTO appstore.refund_requests
            (environment, notification_uuid, kind, transaction_id, original_transaction_id, signed_date, is_advanced_commerce)
        VALUES ('Production', gen_random_uuid(), \(kind), \(charge), \(charge), now() - \(hoursAgo) * interval '1 hour', \(isAdvancedCommerce))
        """
    }

    /// Decides as the backend: by default everything that a consumable needs.
    func answer(
        _ charge: String = "1000",
        consented: Bool? = true,
        delivery: String? = "DELIVERED",
        sample: Bool? = false,
        percentage: Int32? = nil,
        preference: String? = nil,
        evidence: String? = "terms 7",
        details: String? = nil,
        as user: String = "appstore_backend"
    ) async throws {
        try await run(
            """
            SELECT appstore.answer_consumption('Production', \(charge), \(consented), \(delivery), \(sample), \(percentage), \(preference),
                                               \(evidence), \(details)::text::jsonb)
            """,
            as: user
        )
    }

    /// The error with which a decision is refused.
    func refusal(_ body: (TestLedger) async throws -> Void) async -> PostgresError? {
        await #expect(throws: PostgresError.self) { try await body(self) }
    }

    /// `charge state`, and what is known besides.
    func states() async throws -> [String] {
        try await lines(
            "SELECT concat_ws(' ', transaction_id, state, preference, refused_with, outcome) FROM appstore.consumption_requests ORDER BY 1"
        )
    }

    /// Each call about consumption: its state and reason.
    func calls() async throws -> [String] {
        try await lines("SELECT concat_ws(' ', call_key, state, reason) FROM appstore.outbox WHERE kind = 'consumption' ORDER BY call_id")
    }

    /// What the latest call sends.
    func body() async throws -> String {
        try await lines("SELECT convert_from(payload, 'UTF8')::jsonb ->> 'body' FROM appstore.outbox ORDER BY call_id DESC LIMIT 1")[0]
    }

    /// Ends the open call as a worker does, with Apple's answer, or with a refusal.
    func settle(refusedWith reason: String? = nil) async throws {
        try await run("UPDATE appstore.outbox SET is_leased = true, epoch = epoch + 1 WHERE state = 'open'")
        try await run(
            """
            SELECT CASE WHEN \(reason)::text IS NULL THEN appstore.answer_call(c.call_id, c.epoch, '{}')
                        ELSE appstore.end_call(c.call_id, c.epoch, 'refused', \(reason), true) END
            FROM appstore.outbox AS c WHERE c.state = 'open'
            """,
            as: "appstore_worker"
        )
    }

    /// Lets the time for all answers end.
    func passDue() async throws {
        try await run("UPDATE appstore.consumption_obligations SET due_at = now() - interval '1 second'")
    }

    func applyPolicies() async throws -> String {
        try await database.withConnection(user: "appstore_worker") { connection in
            try await connection.query("SELECT concat_ws(' ', decided, missed) FROM appstore.apply_consumption_policies()")[0].decode(0)
        }
    }
}
