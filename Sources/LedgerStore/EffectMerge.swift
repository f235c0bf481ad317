import AppStore
import Ledger
import Postgres

/// How effects are recorded: those that exist stay as they are.
enum EffectMerge {
    /// Takes order and user as the books have them now.
    static func insert(_ entries: [(effect: Effect, eventID: Int64)]) -> Statement {
        let effects = entries.map(\.effect)
        return """
            INSERT INTO appstore.effects (environment, kind, effect_key, event_id, occurred_at, original_transaction_id, transaction_id,
                                          product_id, order_no, user_id)
            SELECT u.environment, u.kind, u.effect_key, u.event_id, u.occurred_at, u.original_transaction_id, u.transaction_id,
                   u.product_id, t.order_no, coalesce(o.user_id, m.user_id)
            FROM unnest(\(effects.map(\.key.environment.rawValue)), \(effects.map(\.key.kind.rawValue)), \(effects.map(\.key.subject)),
                        \(entries.map(\.eventID)), \(effects.map { PostgresTimestamp($0.occurredAt) }),
                        \(effects.map(\.originalTransactionID)), \(effects.map(\.transactionID)), \(effects.map(\.productID)))
                 AS u (environment, kind, effect_key, event_id, occurred_at, original_transaction_id, transaction_id, product_id)
            LEFT JOIN appstore.transactions AS t ON t.environment = u.environment AND t.transaction_id = u.transaction_id
            LEFT JOIN appstore.orders AS o ON o.environment = u.environment AND o.no = t.order_no
            LEFT JOIN appstore.member_contracts AS m ON m.environment = u.environment AND m.contract_id = u.original_transaction_id
            ORDER BY u.environment, u.kind, u.effect_key
            ON CONFLICT (environment, kind, effect_key) DO NOTHING
            """
    }

    /// Returns environment, kind, effect_key and event_id: which event brought each effect, in this batch or before.
    static func origins(_ keys: [EffectKey]) -> Statement {
        """
        SELECT e.environment::text, e.kind, e.effect_key, e.event_id
        FROM unnest(\(keys.map(\.environment.rawValue)), \(keys.map(\.kind.rawValue)), \(keys.map(\.subject)))
             AS u (environment, kind, effect_key)
        JOIN appstore.effects AS e ON e.environment = u.environment AND e.kind = u.kind AND e.effect_key = u.effect_key
        """
    }
}
