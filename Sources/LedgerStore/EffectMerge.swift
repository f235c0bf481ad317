import AppStore
import Ledger
import Postgres

/// How effects are recorded: those that exist stay as they are. Rows are looked up by `LATERAL (… OFFSET 0)`, which no plan turns round.
enum EffectMerge {
    /// Takes order and user as the books have them now, the user of a contract only of the app that vouches for it. Returns environment, kind and effect_key of those that are new.
    static func insert(_ entries: [(effect: Effect, eventID: Int64)]) -> Statement {
        let effects = entries.map(\.effect)
        return """
            INSERT INTO appstore.effects (environment, kind, effect_key, event_id, occurred_at, original_transaction_id, transaction_id,
                                          product_id, order_no, user_id, vouched_bundle_id)
            SELECT u.environment, u.kind, u.effect_key, u.event_id, u.occurred_at, u.original_transaction_id, u.transaction_id,
                   u.product_id, t.order_no, coalesce(o.user_id, m.user_id), u.vouched_bundle_id
            FROM (
                SELECT unnest(\(effects.map(\.key.environment.rawValue))) AS environment,
                       unnest(\(effects.map(\.key.kind.rawValue))) AS kind, unnest(\(effects.map(\.key.subject))) AS effect_key,
                       unnest(\(entries.map(\.eventID))) AS event_id,
                       unnest(\(effects.map { PostgresTimestamp($0.occurredAt) })) AS occurred_at,
                       unnest(\(effects.map(\.originalTransactionID))) AS original_transaction_id,
                       unnest(\(effects.map(\.transactionID))) AS transaction_id, unnest(\(effects.map(\.productID))) AS product_id,
                       unnest(\(effects.map(\.vouchedBundleID))) AS vouched_bundle_id
            ) AS u
            LEFT JOIN LATERAL (
                SELECT t.order_no FROM appstore.transactions AS t
                WHERE t.transaction_id = u.transaction_id AND t.environment = u.environment OFFSET 0
            ) AS t ON true
            LEFT JOIN LATERAL (
                SELECT o.user_id FROM appstore.orders AS o WHERE o.no = t.order_no AND o.environment = u.environment OFFSET 0
            ) AS o ON true
            LEFT JOIN LATERAL (
                SELECT m.user_id FROM appstore.member_contracts AS m
                WHERE m.contract_id = u.original_transaction_id AND m.environment = u.environment
                  AND (u.vouched_bundle_id IS NULL OR m.bundle_id = u.vouched_bundle_id) OFFSET 0
            ) AS m ON true
            ORDER BY u.effect_key, u.kind, u.environment
            ON CONFLICT (effect_key, kind, environment) DO NOTHING
            RETURNING environment::text, kind, effect_key
            """
    }

    /// Returns environment, kind, effect_key and event_id: which event brought each effect.
    static func origins(_ keys: [EffectKey]) -> Statement {
        """
        SELECT e.environment::text, e.kind, e.effect_key, e.event_id
        FROM unnest(\(keys.map(\.environment.rawValue)), \(keys.map(\.kind.rawValue)), \(keys.map(\.subject)))
             AS u (environment, kind, effect_key)
        CROSS JOIN LATERAL (
            SELECT e.environment, e.kind, e.effect_key, e.event_id FROM appstore.effects AS e
            WHERE e.effect_key = u.effect_key AND e.kind = u.kind AND e.environment = u.environment OFFSET 0
        ) AS e
        """
    }
}
