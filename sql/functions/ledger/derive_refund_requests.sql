CREATE OR REPLACE FUNCTION appstore.derive_refund_requests(environment appstore.environment, transaction_ids text[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_mergejoin = off
SET jit = off AS $$
#variable_conflict use_column
DECLARE
    -- Including the transactions that these requests were about until a copy named another.
    v_ids text[] := ARRAY(
        SELECT merged.id COLLATE "C" FROM unnest(derive_refund_requests.transaction_ids) AS merged (id)
        UNION
        SELECT left_by.id
        FROM unnest(derive_refund_requests.transaction_ids) AS merged (id)
        CROSS JOIN LATERAL (
            SELECT r.left_transaction_id AS id FROM appstore.refund_requests AS r
            WHERE r.transaction_id = merged.id AND r.environment = derive_refund_requests.environment
              AND r.left_transaction_id IS NOT NULL OFFSET 0
        ) AS left_by
        ORDER BY 1);
BEGIN
    PERFORM appstore.demand_read_committed();
    -- 1. Lock the rows in the order of their keys. A transaction that merges another notification of the same purchase waits here; its next
    --    statement reads what was committed meanwhile. A false WHERE locks a row and writes nothing.
    INSERT INTO appstore.consumption_obligations (environment, transaction_id)
    SELECT derive_refund_requests.environment, merged.id FROM unnest(v_ids) AS merged (id) ORDER BY merged.id COLLATE "C"
    ON CONFLICT (transaction_id, environment) DO UPDATE SET asked_at = NULL WHERE false;
    -- 2. The latest request, from its first notification on: the first one after the decision before the last one. And the latest decision since.
    UPDATE appstore.consumption_obligations AS c
    SET original_transaction_id = latest.original_transaction_id, asked_at = latest.asked_at, due_at = latest.asked_at + interval '12 hours',
        reason = latest.reason, is_advanced_commerce = coalesce(latest.is_advanced_commerce, false), outcome = latest.outcome,
        outcome_at = latest.outcome_at
    FROM unnest(v_ids) AS merged (id)
    LEFT JOIN LATERAL (
        SELECT first.original_transaction_id, first.signed_date AS asked_at, first.reason, first.is_advanced_commerce, decision.kind AS outcome,
               decision.signed_date AS outcome_at
        FROM (
            SELECT max(r.signed_date) AS signed_date FROM appstore.refund_requests AS r
            WHERE r.transaction_id = merged.id AND r.environment = derive_refund_requests.environment AND r.kind = 'asked'
        ) AS last
        CROSS JOIN LATERAL (
            SELECT r.original_transaction_id, r.signed_date, r.reason, r.is_advanced_commerce FROM appstore.refund_requests AS r
            WHERE r.transaction_id = merged.id AND r.environment = derive_refund_requests.environment AND r.kind = 'asked'
              AND r.signed_date > coalesce((
                      SELECT max(d.signed_date) FROM appstore.refund_requests AS d
                      WHERE d.transaction_id = merged.id AND d.environment = derive_refund_requests.environment AND d.kind IN ('refunded', 'declined')
                        AND d.signed_date < last.signed_date),
                  '-infinity')
            ORDER BY r.signed_date, r.notification_uuid LIMIT 1
        ) AS first
        LEFT JOIN LATERAL (
            SELECT r.kind, r.signed_date FROM appstore.refund_requests AS r
            WHERE r.transaction_id = merged.id AND r.environment = derive_refund_requests.environment AND r.kind IN ('refunded', 'declined')
              AND r.signed_date >= last.signed_date
            ORDER BY r.signed_date DESC, r.notification_uuid DESC LIMIT 1
        ) AS decision ON true
    ) AS latest ON true
    WHERE c.transaction_id = ANY (v_ids) AND c.transaction_id = merged.id
      AND c.environment = derive_refund_requests.environment
      AND (c.original_transaction_id, c.asked_at, c.reason, c.is_advanced_commerce, c.outcome, c.outcome_at)
          IS DISTINCT FROM (latest.original_transaction_id, latest.asked_at, latest.reason, coalesce(latest.is_advanced_commerce, false),
                            latest.outcome, latest.outcome_at);
    -- 3. Delete the rows of copies that do not count.
    DELETE FROM appstore.consumption_obligations AS c
    WHERE c.transaction_id = ANY (v_ids) AND c.environment = derive_refund_requests.environment AND c.asked_at IS NULL
      AND NOT EXISTS (SELECT FROM appstore.refund_requests AS r
                      WHERE r.transaction_id = c.transaction_id AND r.environment = c.environment OFFSET 0);
    -- 4. Discard answers that wait to be sent: Apple has decided. A decision that is made concurrently waits for the lock and sees it.
    UPDATE appstore.outbox AS o SET state = 'discarded', reason = 'apple_decided', settled_at = clock_timestamp(), is_leased = false
    WHERE o.call_id = ANY (ARRAY(
            SELECT d.call_id FROM appstore.consumption_obligations AS c
            CROSS JOIN LATERAL (
                SELECT d.call_id FROM appstore.consumption_decisions AS d
                WHERE d.transaction_id = c.transaction_id AND d.environment = c.environment AND d.call_id IS NOT NULL AND d.result IS NULL
                  AND (c.outcome IS NOT NULL OR d.decided_at < c.asked_at) OFFSET 0
            ) AS d
            WHERE c.transaction_id = ANY (v_ids) AND c.environment = derive_refund_requests.environment AND c.asked_at IS NOT NULL
            ORDER BY d.call_id))
      AND (o.state = 'open') IS TRUE;
END
$$;
COMMENT ON FUNCTION appstore.derive_refund_requests IS
    'Brings consumption_obligations up to date for these transactions, after rows of refund_requests about them were merged; locks the rows '
    'of the transactions. Discards the calls that would answer requests which Apple has decided.';
