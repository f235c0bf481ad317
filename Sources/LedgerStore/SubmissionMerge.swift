import AppStore
import Ledger
import Postgres

/// How it is remembered who posted which charge as his own: the first such post by arrival.
enum SubmissionMerge {
    static func statement(_ submissions: [Submission]) -> Statement {
        """
        INSERT INTO appstore.submissions AS s (environment, transaction_id, user_id, original_transaction_id, received_at, event_id)
        SELECT u.environment, u.transaction_id, u.user_id, u.original_transaction_id, u.received_at, u.event_id
        FROM unnest(\(submissions.map(\.key.charge.environment.rawValue)), \(submissions.map(\.key.charge.id)),
                    \(submissions.map(\.key.user)), \(submissions.map(\.originalTransactionID)),
                    \(submissions.map { PostgresTimestamp($0.receivedAt) }), \(submissions.map(\.eventID)))
             AS u (environment, transaction_id, user_id, original_transaction_id, received_at, event_id)
        ORDER BY u.transaction_id, u.environment, u.user_id
        ON CONFLICT (transaction_id, environment, user_id) DO UPDATE
        SET original_transaction_id = excluded.original_transaction_id, received_at = excluded.received_at, event_id = excluded.event_id
        WHERE (excluded.received_at, excluded.event_id) < (s.received_at, s.event_id)
        """
    }

    /// Returns environment, transaction_id and user_id of all of them, with first_event_id, which is null where nobody submitted it, and the
    /// owner, which is null while the charge is nobody's. To be asked when orders and contracts are up to date.
    static func owners(_ keys: [Submission.Key]) -> Statement {
        """
        SELECT u.environment, u.transaction_id, u.user_id, s.event_id AS first_event_id, coalesce(o.user_id, m.user_id) AS owner
        FROM unnest(\(keys.map(\.charge.environment.rawValue)), \(keys.map(\.charge.id)), \(keys.map(\.user)))
             AS u (environment, transaction_id, user_id)
        LEFT JOIN LATERAL (
            SELECT s.event_id, s.original_transaction_id FROM appstore.submissions AS s
            WHERE s.transaction_id = u.transaction_id AND s.environment = u.environment AND s.user_id = u.user_id OFFSET 0
        ) AS s ON true
        LEFT JOIN LATERAL (
            SELECT t.order_no, t.original_transaction_id FROM appstore.transactions AS t
            WHERE t.transaction_id = u.transaction_id AND t.environment = u.environment OFFSET 0
        ) AS t ON true
        LEFT JOIN LATERAL (
            SELECT o.user_id FROM appstore.orders AS o
            WHERE o.no = t.order_no AND o.environment = u.environment OFFSET 0
        ) AS o ON true
        LEFT JOIN LATERAL (
            SELECT m.user_id FROM appstore.member_contracts AS m
            WHERE m.contract_id = coalesce(s.original_transaction_id, t.original_transaction_id)
              AND m.environment = u.environment OFFSET 0
        ) AS m ON true
        """
    }
}
