import Ledger
import Postgres

/// How calls get into the outbox: in the transaction of the facts that want them, in key order, unless the same question is open already, or
/// was answered within the hour: an app may post its receipt whenever it starts.
enum OutboundCallMerge {
    static func statement(_ calls: [OutboundCall]) -> Statement {
        """
        INSERT INTO appstore.outbox (kind, call_key, bundle_id, event_id, deadline_at)
        SELECT u.kind, u.call_key, u.bundle_id, u.event_id, clock_timestamp() + u.patience * interval '1 second'
        FROM unnest(\(calls.map(\.kind)), \(calls.map(\.key)), \(calls.map(\.bundleID)), \(calls.map(\.eventID)),
                    \(calls.map(\.patience.components.seconds)))
             AS u (kind, call_key, bundle_id, event_id, patience)
        CROSS JOIN LATERAL (
            SELECT EXISTS (SELECT FROM appstore.outbox AS a
                           WHERE a.kind = u.kind AND a.call_key = u.call_key AND a.state = 'answered'
                             AND a.settled_at > clock_timestamp() - interval '1 hour') AS is_known OFFSET 0
        ) AS answer
        WHERE NOT answer.is_known
        ORDER BY u.kind, u.call_key, u.event_id
        ON CONFLICT (kind, call_key) WHERE state = 'open' DO NOTHING
        """
    }
}
