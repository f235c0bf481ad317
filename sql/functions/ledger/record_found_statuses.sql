CREATE OR REPLACE FUNCTION appstore.record_found_statuses(
    p_environment appstore.environment, p_effect_ids uuid[], p_subjects text[], p_event_ids bigint[], p_occurred_at timestamptz[],
    p_original_transaction_ids text[], p_transaction_ids text[], p_product_ids text[], p_grace_period_expires_dates timestamptz[])
RETURNS SETOF uuid
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_mergejoin = off
SET enable_hashjoin = off SET jit = off AS $$
DECLARE
    v_new uuid[];
BEGIN
    WITH effect AS (
        INSERT INTO appstore.effect_log (effect_id, environment, kind, subject, event_id, occurred_at, original_transaction_id, transaction_id,
                                      product_id, order_no, user_id, grace_period_expires_date)
        SELECT e.effect_id, p_environment, 'status_found', e.subject, e.event_id, e.occurred_at, e.original_transaction_id, e.transaction_id,
               e.product_id, t.order_no, appstore.owner_of(o.user_id, m.user_id), e.grace_period_expires_date
        FROM (
            SELECT unnest(p_effect_ids) AS effect_id, unnest(p_subjects) AS subject, unnest(p_event_ids) AS event_id,
                   unnest(p_occurred_at) AS occurred_at, unnest(p_original_transaction_ids) AS original_transaction_id,
                   unnest(p_transaction_ids) AS transaction_id, unnest(p_product_ids) AS product_id,
                   unnest(p_grace_period_expires_dates) AS grace_period_expires_date
        ) AS e
        CROSS JOIN LATERAL (
            SELECT t.order_no, t.period_no, t.original_transaction_id, t.purchase_date, t.is_later_copy FROM appstore.transactions AS t
            WHERE t.transaction_id = e.transaction_id AND t.environment = p_environment OFFSET 0
        ) AS t
        LEFT JOIN LATERAL appstore.order_user(p_environment, t.order_no, t.period_no, t.original_transaction_id, t.purchase_date,
                                              t.is_later_copy) AS o ON true
        LEFT JOIN LATERAL (
            SELECT m.user_id FROM appstore.contracts AS m
            WHERE m.original_transaction_id = e.original_transaction_id AND m.environment = p_environment
              AND (o.user_id IS NULL OR appstore.is_forgotten(o.user_id)) OFFSET 0
        ) AS m ON true
        -- An answer about an earlier period, or older than what the ledger knows, is no news.
        WHERE EXISTS (
            SELECT FROM appstore.contracts AS k
            WHERE k.original_transaction_id = e.original_transaction_id AND k.environment = p_environment
              AND k.current_transaction_id = e.transaction_id AND k.renewal_status = split_part(e.subject, '/', 2)::integer OFFSET 0)
        -- What has told the same of this period: a notification, or the revocation of the transaction beside the status.
          AND NOT EXISTS (
            SELECT FROM appstore.effect_log AS told
            WHERE told.original_transaction_id = e.original_transaction_id AND told.environment = p_environment
              AND told.occurred_at >= t.purchase_date
              AND told.kind = ANY (CASE split_part(e.subject, '/', 2)
                                   WHEN '2' THEN '{expired}'
                                   WHEN '3' THEN '{billing_retry_started,grace_period_ended}'
                                   WHEN '4' THEN '{grace_period_started}'
                                   WHEN '5' THEN '{revoked,refunded}' END::text[]) OFFSET 0)
        ORDER BY e.effect_id
        ON CONFLICT (effect_id) DO NOTHING
        RETURNING effect_id
    )
    SELECT coalesce(array_agg(effect.effect_id), '{}') INTO v_new FROM effect;
    IF cardinality(v_new) > 0 AND (SELECT s.is_on FROM appstore.feed_switch AS s) THEN
        PERFORM appstore.tell_effects(p_environment, v_new, '{}');
    END IF;
    RETURN QUERY SELECT unnest(v_new);
END
$$;
COMMENT ON FUNCTION appstore.record_found_statuses IS
    'Records effects of kind status_found, whose subject is contract/status/end of the period, unless another effect has told the same of this period '
    'or the ledger knows of a later period or another status. '
    'After appstore.apply_facts, in the same transaction. Returns the ids of those that are new. The arrays have an element for each effect.';
