-- after the definitions
-- 1. A revocation that gave no money back was told as a refund. It has now the key that its next statement gives it, so that none is told twice. Of what
--    was bought a refund of another date stays: it was told by a statement that the row has no longer.
CREATE TABLE appstore.step_revoked AS
SELECT e.effect_id, dated.at, k.subject, encode(set_byte(set_byte(d.digest, 6, (get_byte(d.digest, 6) & 15) | 80), 8, (get_byte(d.digest, 8) & 63) | 128),
                                      'hex')::uuid AS new_id
FROM appstore.step_changed AS c
JOIN appstore.effect_log AS e ON e.transaction_id = c.transaction_id AND e.environment = c.environment
CROSS JOIN LATERAL (
    SELECT CASE WHEN date_trunc('second', e.restated_date) = date_trunc('second', c.revocation_date) THEN e.restated_date ELSE e.occurred_at END AS at
) AS dated
CROSS JOIN LATERAL (SELECT e.transaction_id || '/' || floor(extract(epoch FROM dated.at))::bigint * 1000 AS subject) AS k
CROSS JOIN LATERAL (
    SELECT substr(appstore.sha1('\x2d9c417b6a0e4f358b57d1943ec260af'::bytea || convert_to(e.environment::text, 'UTF8') || '\x00'::bytea
                                || convert_to('revoked', 'UTF8') || '\x00'::bytea || convert_to(k.subject, 'UTF8')), 1, 16) AS digest
) AS d
WHERE e.kind = 'refunded' AND (c.is_shared OR date_trunc('second', dated.at) = date_trunc('second', c.revocation_date));
-- Of two in one second one is enough, and what is told already stays.
DELETE FROM appstore.step_revoked AS r
WHERE EXISTS (SELECT FROM appstore.effect_log AS e WHERE e.effect_id = r.new_id)
   OR EXISTS (SELECT FROM appstore.step_revoked AS o WHERE o.new_id = r.new_id AND o.effect_id < r.effect_id);
UPDATE appstore.tells AS t SET ref = r.new_id::text FROM appstore.step_revoked AS r WHERE t.kind = 'effect' AND t.ref = r.effect_id::text;
UPDATE appstore.effect_log AS e SET effect_id = r.new_id, kind = 'revoked', subject = r.subject, occurred_at = r.at, restated_date = NULL
FROM appstore.step_revoked AS r WHERE e.effect_id = r.effect_id;

-- 2. Orders, owners and access. Some hundred contracts a call, since the derivation is made for batches.
SELECT appstore.derive_ledger(slice.environment, slice.transaction_ids, slice.contracts, p_is_exclusive => true) -- the step before has locked all
FROM (
    SELECT due.environment, array_agg(DISTINCT due.transaction_id) AS transaction_ids, array_agg(DISTINCT due.contract) AS contracts
    FROM (
        SELECT c.environment, c.transaction_id, c.original_transaction_id AS contract,
               (dense_rank() OVER (PARTITION BY c.environment ORDER BY c.original_transaction_id) - 1) / 500 AS number
        FROM appstore.step_changed AS c
    ) AS due
    GROUP BY due.environment, due.number
    ORDER BY due.environment, due.number
) AS slice;
DROP TABLE appstore.step_changed, appstore.step_revoked;

-- 3. What the release before did not read: seats of groups, commitments, migrations, and products of a type that it did not know. The events about such contracts
--    whose bodies are kept run again; the same JWS then fills the columns. Of other purchases Apple says it with its next statement.
CREATE TABLE appstore.step_unread AS
SELECT o.event_id
FROM (
    SELECT t.environment::text AS environment, t.original_transaction_id FROM appstore.transactions AS t
    WHERE (t.is_subscription AND (t.quantity > 1 OR t.billing_plan_type = 'MONTHLY'))
       OR t.product_type NOT IN ('Auto-Renewable Subscription', 'Non-Consumable', 'Consumable', 'Non-Renewing Subscription')
    UNION
    SELECT o.environment, o.original_transaction_id FROM appstore.outcomes AS o
    WHERE (o.result = 'unhandled' AND (o.subtype IN ('INCREASE_QUANTITY', 'DECREASE_QUANTITY', 'SEATS') OR o.notification_type = 'UNCLAIM_SEATS'))
       OR o.notification_type = 'MIGRATION'
) AS unread
JOIN appstore.outcomes AS o ON o.original_transaction_id = unread.original_transaction_id AND o.environment = unread.environment
WHERE EXISTS (SELECT FROM appstore.inbox AS i WHERE i.event_id = o.event_id)
ORDER BY o.event_id DESC LIMIT 100001;
SELECT appstore.repair_outcomes('requeue', slice.ids, 'infinity', '0', appstore.actor(), 'read seats and commitments', NULL)
FROM (
    SELECT array_agg(due.event_id) AS ids
    FROM (SELECT u.event_id, (row_number() OVER (ORDER BY u.event_id DESC) - 1) / 1000 AS number FROM appstore.step_unread AS u) AS due
    WHERE due.number < 100 GROUP BY due.number ORDER BY due.number
) AS slice;
DO $$
BEGIN
    IF (SELECT count(*) FROM appstore.step_unread) > 100000 THEN
        RAISE WARNING 'events of groups and commitments before event % have not been run again',
            (SELECT u.event_id FROM appstore.step_unread AS u ORDER BY u.event_id DESC OFFSET 99999 LIMIT 1)
            USING HINT = 'Run the others with appstore.requeue.';
    END IF;
END
$$;
DROP TABLE appstore.step_unread;
