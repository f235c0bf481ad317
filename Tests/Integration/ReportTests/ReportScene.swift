import Foundation
import InboxTesting
import Postgres
import PostgresTesting
import Randomness

/// A database with the charges and effects of random lives, and what its reports say.
struct ReportScene {
    let database: TestDatabase
    let lives: [Life]

    static func make(lives count: Int, seed: UInt64, isRegular: Bool = false, hasGroups: Bool = true) async throws -> ReportScene {
        var random = SeededGenerator(seed: seed)
        let lives = (0..<count).map { Life(index: $0, isRegular: isRegular, hasGroups: hasGroups, using: &random) }
        let scene = ReportScene(database: try await InboxDatabase.make(), lives: lives)
        try await scene.store(lives.flatMap(\.charges).shuffled(using: &random))
        for product in Product.all {
            guard let duration = product.duration else { continue }
            for bundle in ["com.example.one", "com.example.two"] {
                try await scene.run(
                    """
                    INSERT INTO appstore.products (bundle_id, product_id, entitlement, duration)
                    VALUES (\(bundle), \(product.id), 'pro', \(duration)), (\(bundle), \(product.id), 'x', NULL)
                    """
                )
            }
        }
        return scene
    }

    func run(_ statement: Statement) async throws {
        try await database.withConnection { _ = try await $0.execute(statement) }
    }

    /// Stores charges as the worker would, and the effects of grace periods and of renewal turned off and on.
    func store(_ charges: [Charge]) async throws {
        let json = String(decoding: try JSONEncoder().encode(charges), as: UTF8.self)
        try await run(
            """
            INSERT INTO appstore.transactions (environment, transaction_id, original_transaction_id, web_order_line_item_id, bundle_id, product_id,
                product_type, purchase_date, expires_date, quantity, in_app_ownership_type, revocation_date, revocation_percentage, is_upgraded,
                offer_type, offer_identifier, offer_discount_type, storefront, transaction_reason, currency, price, signed_date, payload_hash,
                receipt_date, receipt_hash, first_signed_date, period_no, is_subscription, is_purchased, is_later_copy, billing_plan_type,
                commitment_info, multi_seat_info, additional_transaction_reason)
            SELECT c.environment, c.transaction_id, c.original_transaction_id, c.period, c.bundle_id, c.product_id,
                   CASE WHEN c.is_subscription THEN 'Auto-Renewable Subscription' ELSE 'Consumable' END, to_timestamp(c.start), to_timestamp(c."end"),
                   c.quantity, c.ownership, to_timestamp(c.revoked_at), c.revocation_percentage, c.is_upgraded, c.offer_type, c.offer_identifier,
                   c.offer_discount_type, c.storefront, c.reason, c.currency, c.price,
                   CASE WHEN c.reason IS NOT NULL THEN to_timestamp(c.start) END, CASE WHEN c.reason IS NOT NULL THEN '\\x01'::bytea END,
                   CASE WHEN c.reason IS NULL THEN to_timestamp(c.start) END, CASE WHEN c.reason IS NULL THEN '\\x01'::bytea END,
                   to_timestamp(c.start), md5(c.environment || c.period)::uuid, c.is_subscription, appstore.is_purchase(c.ownership),
                   row_number() OVER (PARTITION BY c.environment, c.period, appstore.is_purchase(c.ownership)
                                      ORDER BY length(c.transaction_id), c.transaction_id) > 1,
                   c.plan,
                   CASE WHEN c.commitment IS NOT NULL
                        THEN jsonb_build_object('billingPeriodNumber', c.commitment -> 'month', 'totalBillingPeriods', 12,
                                                'commitmentExpiresDate', (c.commitment ->> 'until')::bigint * 1000) END,
                   CASE WHEN c."isGroup"
                        THEN jsonb_strip_nulls(jsonb_build_object('invitationManagement', 'APPLE', 'revokedSeatQuantity', c."refundedSeats")) END,
                   CASE WHEN c."isMarked" THEN 'SEAT_ADDITION' END
            FROM jsonb_to_recordset(\(json)::jsonb) AS c (
                environment appstore.environment, transaction_id text, original_transaction_id text, period text, bundle_id text, product_id text,
                is_subscription boolean, ownership text, reason text, storefront text, currency text, price bigint, offer_type integer,
                offer_identifier text, offer_discount_type text, start bigint, "end" bigint, revoked_at bigint, revocation_percentage integer,
                is_upgraded boolean, quantity integer, "isGroup" boolean, "refundedSeats" integer, "isMarked" boolean, plan text, commitment jsonb)
            """
        )
        try await run(
            """
            INSERT INTO appstore.effect_log (effect_id, environment, kind, subject, event_id, occurred_at, original_transaction_id, transaction_id,
                                             grace_period_expires_date)
            SELECT gen_random_uuid(), c.environment, e.kind, gen_random_uuid()::text, 1, to_timestamp(e.at), c.original_transaction_id,
                   CASE WHEN e.until IS NULL OR c.start % 7 <> 0 THEN c.transaction_id END, to_timestamp(e.until)
            FROM jsonb_to_recordset(\(json)::jsonb) AS c (
                environment appstore.environment, transaction_id text, original_transaction_id text, start bigint, "end" bigint,
                grace_until bigint, toggles jsonb)
            CROSS JOIN LATERAL (
                SELECT 'grace_period_started' AS kind, c."end" AS at, c.grace_until AS until WHERE c.grace_until IS NOT NULL
                UNION ALL
                SELECT CASE WHEN t."willRenew" THEN 'will_renew' ELSE 'will_not_renew' END, t.at, NULL
                FROM jsonb_to_recordset(c.toggles) AS t (at bigint, "willRenew" boolean)
            ) AS e
            """
        )
        try await run("ANALYZE")
    }

    /// The figures of a query that returns words and numbers: their first two columns, `text` and `numeric[]`.
    func figures(_ query: String, user: String = "appstore_reporter") async throws -> Figures {
        let rows = try await database.withConnection(user: user) { connection in
            try await connection.query(
                "SELECT key::text, array_to_string(figures, ' ', '-1') AS figures FROM (\(unsafeRaw: query)) AS q (key, figures)"
            )
        }
        var figures = Figures()
        for row in rows {
            let numbers = try row.decode("figures", as: String.self).split(separator: " ").compactMap { Double($0) }
            figures[try row.decode("key")] = numbers
        }
        return figures
    }
}
