import Ledger
import Postgres

/// How calls get into the outbox: in the transaction of the facts that want them, in key order, unless the same question was answered within
/// the hour: an app may post its receipt whenever it starts. A question that is open already remembers who asks it as well, so that it can
/// be made of another's event when the first one's poster is forgotten; a hundred of them are enough.
enum OutboundCallMerge {
    static func statement(_ calls: [OutboundCall]) -> Statement {
        """
        INSERT INTO appstore.outbox AS c (kind, call_key, bundle_id, event_id, asked_by, fallback_source, deadline_at)
        SELECT u.kind, u.call_key, min(u.bundle_id), min(u.event_id), array_agg(u.event_id ORDER BY u.event_id),
               max(u.fallback),
               clock_timestamp() + max(u.patience) * interval '1 second'
        FROM unnest(\(calls.map(\.kind)), \(calls.map(\.key)), \(calls.map(\.bundleID)), \(calls.map(\.eventID)),
                    \(calls.map(\.fallback)),
                    \(calls.map(\.patience.components.seconds)))
             AS u (kind, call_key, bundle_id, event_id, fallback, patience)
        CROSS JOIN LATERAL (
            SELECT EXISTS (SELECT FROM appstore.outbox AS a
                           WHERE a.kind = u.kind AND a.call_key = u.call_key AND a.state = 'answered'
                             AND a.settled_at > clock_timestamp() - interval '1 hour') AS is_known OFFSET 0
        ) AS answer
        WHERE NOT answer.is_known
        GROUP BY u.kind, u.call_key
        ORDER BY u.kind, u.call_key
        ON CONFLICT (kind, call_key) WHERE state = 'open' DO UPDATE
        SET asked_by = c.asked_by || excluded.asked_by
        WHERE NOT c.asked_by @> excluded.asked_by AND cardinality(c.asked_by) < 100
        """
    }
}
