CREATE FUNCTION appstore.derive_refund_requests(environment appstore.environment, transaction_ids text[]) RETURNS void
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
    -- 2. The first request since the last decision.
    UPDATE appstore.consumption_obligations AS c
    SET original_transaction_id = first.original_transaction_id, asked_at = first.signed_date,
        due_at = first.signed_date + interval '12 hours', reason = first.reason
    FROM unnest(v_ids) AS merged (id)
    LEFT JOIN LATERAL (
        SELECT r.original_transaction_id, r.signed_date, r.reason FROM appstore.refund_requests AS r
        WHERE r.transaction_id = merged.id AND r.environment = derive_refund_requests.environment AND r.kind = 'asked'
          AND r.signed_date > coalesce((
                  SELECT max(d.signed_date) FROM appstore.refund_requests AS d
                  WHERE d.transaction_id = merged.id AND d.environment = derive_refund_requests.environment AND d.kind <> 'asked'),
              '-infinity')
        ORDER BY r.signed_date, r.notification_uuid LIMIT 1
    ) AS first ON true
    WHERE c.transaction_id = ANY (v_ids) AND c.transaction_id = merged.id
      AND c.environment = derive_refund_requests.environment
      AND (c.original_transaction_id, c.asked_at, c.reason) IS DISTINCT FROM (first.original_transaction_id, first.signed_date, first.reason);
    -- 3. Delete the rows of copies that do not count.
    DELETE FROM appstore.consumption_obligations AS c
    WHERE c.transaction_id = ANY (v_ids) AND c.environment = derive_refund_requests.environment AND c.asked_at IS NULL
      AND c.answered_at IS NULL
      AND NOT EXISTS (SELECT FROM appstore.refund_requests AS r
                      WHERE r.transaction_id = c.transaction_id AND r.environment = c.environment OFFSET 0);
END
$$;
COMMENT ON FUNCTION appstore.derive_refund_requests IS
    'Brings consumption_obligations up to date for these transactions, after rows of refund_requests about them were merged.';
