import AppStore
import Ledger
import Postgres

/// How it is remembered what Apple asked and decided of refunds: each notification as it was signed first.
enum RefundStatementMerge {
    /// As ``RefundStatement`` orders them: `COLLATE "C"` is byte by byte.
    private static func place(_ row: String) -> String {
        """
        (\(row).signed_date, \(row).kind COLLATE "C", \(row).transaction_id COLLATE "C", \(row).original_transaction_id COLLATE "C",
         coalesce(\(row).reason, '') COLLATE "C")
        """
    }

    static func statement(_ statements: [RefundStatement]) -> Statement {
        """
        INSERT INTO appstore.refund_statements AS r (environment, notification_uuid, kind, transaction_id, original_transaction_id, reason,
                                                     signed_date)
        SELECT u.environment, u.notification_uuid, u.kind, u.transaction_id, u.original_transaction_id, u.reason, u.signed_date
        FROM unnest(\(statements.map(\.key.environment.rawValue)), \(statements.map(\.key.id)), \(statements.map(\.kind.rawValue)),
                    \(statements.map(\.transactionID)), \(statements.map(\.originalTransactionID)), \(statements.map(\.reason)),
                    \(statements.map { PostgresTimestamp($0.signedDate) }))
             AS u (environment, notification_uuid, kind, transaction_id, original_transaction_id, reason, signed_date)
        ORDER BY u.notification_uuid, u.environment
        ON CONFLICT (notification_uuid, environment) DO UPDATE
        SET kind = excluded.kind, transaction_id = excluded.transaction_id, original_transaction_id = excluded.original_transaction_id,
            reason = excluded.reason, signed_date = excluded.signed_date
        WHERE \(unsafeRaw: place("excluded")) < \(unsafeRaw: place("r"))
        """
    }
}
