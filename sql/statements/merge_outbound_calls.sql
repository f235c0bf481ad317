-- Opens the calls that the events of a batch request.
-- A worker sends it as the first merge of a batch's transaction, one element of each array for each call: appstore.forget locks the outbox
-- before the ledger as well.
-- Returns no rows.
--
-- A call whose key was answered within the last hour is not opened again, because an app may post its receipt each time it starts. An open
-- call records the events that requested it, up to a hundred: appstore.forget can then delete the body of one and use another.
INSERT INTO appstore.outbox AS c (kind, call_key, bundle_id, event_id, asked_by, fallback_source, deadline_at)
SELECT u.kind, u.call_key, min(u.bundle_id), min(u.event_id), array_agg(u.event_id ORDER BY u.event_id), max(u.fallback_source),
       clock_timestamp() + max(u.seconds_left) * interval '1 second'
FROM (
    SELECT unnest(:kinds::text[] COLLATE "C") AS kind, unnest(:call_keys::text[] COLLATE "C") AS call_key,
           unnest(:bundle_ids::text[] COLLATE "C") AS bundle_id, unnest(:event_ids::bigint[]) AS event_id,
           unnest(:fallback_sources::text[] COLLATE "C") AS fallback_source, unnest(:seconds_left::bigint[]) AS seconds_left
) AS u
CROSS JOIN LATERAL ( -- OFFSET 0 pins an index lookup for each call
    SELECT EXISTS (SELECT FROM appstore.outbox AS a
                   WHERE a.kind = u.kind AND a.call_key = u.call_key AND a.state = 'answered'
                     AND a.settled_at > clock_timestamp() - interval '1 hour') AS is_known OFFSET 0
) AS answer
WHERE NOT answer.is_known
GROUP BY u.kind, u.call_key
ORDER BY u.kind, u.call_key
ON CONFLICT (kind, call_key) WHERE state = 'open' DO UPDATE
SET asked_by = c.asked_by || excluded.asked_by
WHERE NOT c.asked_by @> excluded.asked_by AND cardinality(c.asked_by) < 100;
