import AppStore
import Ledger
import Postgres

/// How it is remembered whose app posted a receipt with which contracts in it: the first such post by arrival.
enum ReceiptSubmissionMerge {
    static func statement(_ submissions: [ReceiptSubmission]) -> Statement {
        """
        INSERT INTO appstore.receipt_submissions AS s (environment, original_transaction_id, user_id, transaction_id, received_at, event_id)
        SELECT u.environment, u.original_transaction_id, u.user_id, u.transaction_id, u.received_at, u.event_id
        FROM unnest(\(submissions.map(\.key.contract.environment.rawValue)), \(submissions.map(\.key.contract.id)),
                    \(submissions.map(\.key.user)), \(submissions.map(\.key.transactionID)),
                    \(submissions.map { PostgresTimestamp($0.receivedAt) }), \(submissions.map(\.eventID)))
             AS u (environment, original_transaction_id, user_id, transaction_id, received_at, event_id)
        ORDER BY u.original_transaction_id, u.environment, u.user_id, u.transaction_id
        ON CONFLICT (original_transaction_id, environment, user_id, transaction_id) DO UPDATE
        SET received_at = excluded.received_at, event_id = excluded.event_id
        WHERE (excluded.received_at, excluded.event_id) < (s.received_at, s.event_id)
        """
    }

    /// Returns environment, original_transaction_id, user_id and transaction_id of all of them, with first_event_id.
    static func firsts(_ keys: [ReceiptSubmission.Key]) -> Statement {
        """
        SELECT s.environment::text, s.original_transaction_id, s.user_id, s.transaction_id, s.event_id AS first_event_id
        FROM unnest(\(keys.map(\.contract.environment.rawValue)), \(keys.map(\.contract.id)), \(keys.map(\.user)),
                    \(keys.map(\.transactionID)))
             AS u (environment, original_transaction_id, user_id, transaction_id)
        CROSS JOIN LATERAL (
            SELECT s.* FROM appstore.receipt_submissions AS s
            WHERE s.original_transaction_id = u.original_transaction_id AND s.environment = u.environment
              AND s.user_id = u.user_id AND s.transaction_id = u.transaction_id OFFSET 0
        ) AS s
        """
    }
}
