-- The refunds of a purchase are numbered by the reversals between them: Apple may change the date of a refund, and copies of a purchase are
-- refunded together.
CREATE OR REPLACE FUNCTION appstore.record_refunds(
    p_environment appstore.environment, p_effect_ids uuid[], p_subjects text[], p_event_ids bigint[], p_occurred_at timestamptz[],
    p_original_transaction_ids text[], p_transaction_ids text[], p_product_ids text[], p_reversed_transaction_ids text[],
    p_reversal_event_ids bigint[])
RETURNS TABLE (effect_id uuid, event_id bigint)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_mergejoin = off
SET enable_hashjoin = off SET jit = off AS $$
#variable_conflict use_column
DECLARE
    v_purchase  record;
    v_reversals timestamptz[]; -- of the purchase, in order
    v_latest    timestamptz;   -- the latest date of a refund that Apple has ever given
    v_new       uuid[];
    v_all_new   uuid[] := '{}';
BEGIN
    FOR v_purchase IN
        SELECT p.contract, p.purchase, max(p.event_id) AS event_id
        FROM (
            SELECT unnest(p_original_transaction_ids) AS contract, unnest(p_subjects) AS purchase, unnest(p_event_ids) AS event_id
            UNION ALL
            SELECT t.original_transaction_id, appstore.purchase_of(t), r.event_id
            FROM (SELECT unnest(p_reversed_transaction_ids) AS id, unnest(p_reversal_event_ids) AS event_id) AS r
            CROSS JOIN LATERAL (
                SELECT t.* FROM appstore.transactions AS t WHERE t.transaction_id = r.id AND t.environment = p_environment OFFSET 0
            ) AS t
        ) AS p
        GROUP BY p.contract, p.purchase
        ORDER BY p.contract COLLATE "C", p.purchase COLLATE "C"
    LOOP
        v_reversals := ARRAY(
            SELECT r.signed_date
            FROM appstore.transactions AS t
            CROSS JOIN LATERAL (
                SELECT r.signed_date FROM appstore.refund_requests AS r
                WHERE r.transaction_id = t.transaction_id AND r.environment = p_environment AND r.kind = 'reversed' OFFSET 0
            ) AS r
            WHERE t.original_transaction_id = v_purchase.contract AND t.environment = p_environment
              AND appstore.purchase_of(t) = v_purchase.purchase
            ORDER BY r.signed_date);
        v_latest := greatest(
            (SELECT max(greatest(e.occurred_at, e.restated_date)) FROM appstore.effect_log AS e
             WHERE e.original_transaction_id = v_purchase.contract AND e.environment = p_environment AND e.kind = 'refunded'
               AND appstore.purchase_of_refund(e.subject) = v_purchase.purchase),
            (SELECT max(f.occurred_at)
             FROM (SELECT unnest(p_subjects) AS purchase, unnest(p_occurred_at) AS occurred_at) AS f WHERE f.purchase = v_purchase.purchase));
        CONTINUE WHEN v_latest IS NULL;
        -- 1. A refund for each reversal before the latest one, and the latest one. Apple has not told of each: a reversal implies the refund.
        WITH fact AS MATERIALIZED (
            SELECT f.*, appstore.refund_number(v_reversals, f.occurred_at) AS number
            FROM (SELECT unnest(p_subjects) AS purchase, unnest(p_event_ids) AS event_id, unnest(p_occurred_at) AS occurred_at,
                         unnest(p_transaction_ids) AS transaction_id, unnest(p_product_ids) AS product_id) AS f
            WHERE f.purchase = v_purchase.purchase
        ), effect AS (
            INSERT INTO appstore.effect_log (effect_id, environment, kind, subject, event_id, occurred_at, original_transaction_id, transaction_id,
                                             product_id, order_no, user_id)
            SELECT appstore.refund_id(p_environment, v_purchase.purchase, n.number), p_environment, 'refunded',
                   v_purchase.purchase || '/' || n.number, coalesce(own.event_id, v_purchase.event_id),
                   coalesce(own.occurred_at, least(v_reversals[n.number + 1], v_latest)), v_purchase.contract, charge.transaction_id,
                   charge.product_id, charge.order_no, appstore.owner_of(o.user_id, m.user_id)
            FROM generate_series(0, appstore.refund_number(v_reversals, v_latest)) AS n (number)
            LEFT JOIN LATERAL (
                SELECT fact.* FROM fact WHERE fact.number = n.number ORDER BY fact.occurred_at, fact.event_id LIMIT 1
            ) AS own ON true
            LEFT JOIN LATERAL (
                SELECT t.transaction_id, t.product_id, t.order_no FROM appstore.transactions AS t
                WHERE t.original_transaction_id = v_purchase.contract AND t.environment = p_environment
                  AND (t.transaction_id = own.transaction_id OR (own.transaction_id IS NULL AND appstore.purchase_of(t) = v_purchase.purchase))
                ORDER BY length(t.transaction_id), t.transaction_id LIMIT 1
            ) AS charge ON true
            LEFT JOIN LATERAL (
                SELECT o.user_id FROM appstore.orders AS o WHERE o.order_no = charge.order_no AND o.environment = p_environment OFFSET 0
            ) AS o ON true
            LEFT JOIN LATERAL (
                SELECT m.user_id FROM appstore.contracts AS m
                WHERE m.original_transaction_id = v_purchase.contract AND m.environment = p_environment OFFSET 0
            ) AS m ON true
            ORDER BY n.number
            ON CONFLICT (effect_id) DO NOTHING
            RETURNING effect_id
        )
        SELECT coalesce(array_agg(effect.effect_id), '{}') INTO v_new FROM effect;
        v_all_new := v_all_new || v_new;
        -- 2. Mark the refunds of which Apple has changed the date, and name the event of each.
        UPDATE appstore.effect_log AS e SET restated_date = greatest(e.restated_date, moved.latest)
        FROM (
            SELECT appstore.refund_id(p_environment, v_purchase.purchase, appstore.refund_number(v_reversals, f.occurred_at)) AS id,
                   max(f.occurred_at) AS latest, min(f.occurred_at) AS earliest
            FROM (SELECT unnest(p_subjects) AS purchase, unnest(p_occurred_at) AS occurred_at) AS f WHERE f.purchase = v_purchase.purchase
            GROUP BY 1
        ) AS moved
        WHERE e.effect_id = moved.id
          AND (date_trunc('second', moved.latest) <> date_trunc('second', e.occurred_at)
               OR date_trunc('second', moved.earliest) <> date_trunc('second', e.occurred_at))
          AND (e.restated_date >= moved.latest) IS NOT TRUE;
        RETURN QUERY
        SELECT f.effect_id, e.event_id
        FROM (SELECT unnest(p_effect_ids) AS effect_id, unnest(p_subjects) AS purchase, unnest(p_occurred_at) AS occurred_at) AS f
        JOIN appstore.effect_log AS e
            ON e.effect_id = appstore.refund_id(p_environment, v_purchase.purchase, appstore.refund_number(v_reversals, f.occurred_at))
        WHERE f.purchase = v_purchase.purchase;
    END LOOP;
    IF cardinality(v_all_new) > 0 AND (SELECT s.is_on FROM appstore.feed_switch AS s) THEN
        PERFORM appstore.tell_effects(p_environment, v_all_new, '{}');
    END IF;
END
$$;
COMMENT ON FUNCTION appstore.record_refunds IS
    'Records the refunds that these facts tell, after appstore.apply_facts and the reversals of the same transaction. p_subjects: the purchases, as '
    'appstore.purchase_of names them; p_reversed_transaction_ids: transactions whose refund a notification of the batch reverses. Returns for each of '
    'p_effect_ids, which only name the facts here, the event of the refund that the fact tells.';

CREATE OR REPLACE FUNCTION appstore.refund_number(p_reversals timestamptz[], p_refunded_at timestamptz) RETURNS integer
LANGUAGE sql STABLE AS $$
    SELECT count(*)::integer FROM unnest(p_reversals) AS reversal (signed_date)
    WHERE date_trunc('second', reversal.signed_date) < date_trunc('second', p_refunded_at) -- receipts have whole seconds
$$;
COMMENT ON FUNCTION appstore.refund_number IS 'Which refund of a purchase has this date: 0 for the first, 1 for the one after the first reversal …';

CREATE OR REPLACE FUNCTION appstore.refund_id(p_environment appstore.environment, p_purchase text, p_number integer) RETURNS uuid
LANGUAGE sql STABLE AS $$
    SELECT appstore.feed_id(jsonb_build_array('refunded', p_environment, p_purchase, p_number))
$$;
COMMENT ON FUNCTION appstore.refund_id IS 'The effect_id of a refund, a UUID of version 8: the same in every installation.';

CREATE OR REPLACE FUNCTION appstore.purchase_of_refund(p_subject text) RETURNS text
LANGUAGE sql IMMUTABLE AS $$
    SELECT left(p_subject, -1 - length(substring(p_subject FROM '[^/]*$')))
$$;
COMMENT ON FUNCTION appstore.purchase_of_refund IS 'The purchase in the subject of a refund, without the number.';
