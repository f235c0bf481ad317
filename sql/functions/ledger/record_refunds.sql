-- The refunds of a purchase are numbered by the reversals between them: Apple may change the date of a refund, and copies of a purchase are
-- refunded together.
CREATE OR REPLACE FUNCTION appstore.record_refunds(
    p_environment appstore.environment, p_effect_ids uuid[], p_event_ids bigint[], p_occurred_at timestamptz[], p_transaction_ids text[],
    p_reversed_transaction_ids text[], p_reversal_event_ids bigint[])
RETURNS TABLE (effect_id uuid, event_id bigint)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_mergejoin = off
SET enable_hashjoin = off SET jit = off AS $$
#variable_conflict use_column
DECLARE
    v_new uuid[];
BEGIN
    -- 1. The purchases of these facts. A fact may name its purchase otherwise, or not, than the newest one about its transaction.
    WITH told AS MATERIALIZED (
        SELECT f.*, t.original_transaction_id AS contract, appstore.purchase_of(t) AS purchase, t.period_no
        FROM (
            SELECT unnest(p_effect_ids) AS name, unnest(p_event_ids) AS event_id, unnest(p_occurred_at) AS occurred_at,
                   unnest(p_transaction_ids) AS transaction_id
            UNION ALL
            SELECT NULL, unnest(p_reversal_event_ids), NULL, unnest(p_reversed_transaction_ids)
        ) AS f
        CROSS JOIN LATERAL (
            SELECT t.* FROM appstore.transactions AS t WHERE t.transaction_id = f.transaction_id AND t.environment = p_environment OFFSET 0
        ) AS t
    ), purchase AS MATERIALIZED (
        SELECT p.*, alike.ids, reversed.dates AS reversals,
               greatest(p.latest, (SELECT max(greatest(e.occurred_at, e.restated_date)) FROM appstore.effect_log AS e
                                   WHERE e.transaction_id = ANY (alike.ids) AND e.environment = p_environment AND e.kind = 'refunded')) AS latest_ever
        FROM (
            SELECT told.contract, told.purchase, told.period_no, max(told.event_id) AS event_id, max(told.occurred_at) AS latest FROM told
            GROUP BY 1, 2, 3
        ) AS p
        CROSS JOIN LATERAL (
            SELECT ARRAY(SELECT t.transaction_id FROM appstore.transactions AS t
                         WHERE t.period_no = p.period_no AND t.environment = p_environment
                         ORDER BY length(t.transaction_id), t.transaction_id) AS ids OFFSET 0
        ) AS alike
        CROSS JOIN LATERAL (
            SELECT ARRAY(SELECT r.signed_date FROM appstore.refund_requests AS r
                         WHERE r.transaction_id = ANY (alike.ids) AND r.environment = p_environment AND r.kind = 'reversed'
                         ORDER BY r.signed_date) AS dates OFFSET 0
        ) AS reversed
    ), fact AS MATERIALIZED (
        SELECT f.*, appstore.refund_id(p_environment, f.purchase, f.number, f.ids, f.reversals) AS effect_id
        FROM (
            SELECT told.*, purchase.ids, purchase.reversals, appstore.refund_number(purchase.reversals, told.occurred_at) AS number
            FROM told JOIN purchase ON (purchase.contract, purchase.purchase) = (told.contract, told.purchase)
            WHERE told.occurred_at IS NOT NULL OFFSET 0
        ) AS f
    ), known AS MATERIALIZED (
        SELECT fact.name, e.* FROM fact CROSS JOIN LATERAL (
            SELECT e.effect_id, e.event_id, e.occurred_at AS recorded, fact.occurred_at AS stated FROM appstore.effect_log AS e
            WHERE e.effect_id = fact.effect_id OFFSET 0
        ) AS e
    ), made AS (
        -- 2. A refund for each reversal before the latest one, and the latest one. Apple has not told of each: a reversal implies the refund.
        INSERT INTO appstore.effect_log (effect_id, environment, kind, subject, event_id, occurred_at, restated_date, original_transaction_id,
                                         transaction_id, product_id, order_no, user_id)
        SELECT n.effect_id, p_environment, 'refunded', p.purchase || '/' || n.number, coalesce(own.event_id, p.event_id),
               coalesce(own.occurred_at, least(p.reversals[n.number + 1], p.latest_ever)), own.restated_date, p.contract, charge.transaction_id,
               charge.product_id, charge.order_no, appstore.owner_of(o.user_id, m.user_id)
        FROM purchase AS p
        CROSS JOIN LATERAL (
            SELECT number.number, appstore.refund_id(p_environment, p.purchase, number.number, p.ids, p.reversals) AS effect_id
            FROM generate_series(0, appstore.refund_number(p.reversals, p.latest_ever)) AS number (number) OFFSET 0
        ) AS n
        LEFT JOIN LATERAL (
            SELECT first.*, (SELECT max(fact.occurred_at) FROM fact
                             WHERE fact.effect_id = first.effect_id
                               AND date_trunc('second', fact.occurred_at) <> date_trunc('second', first.occurred_at)) AS restated_date
            FROM (
                SELECT fact.* FROM fact WHERE fact.effect_id = n.effect_id ORDER BY fact.occurred_at, fact.event_id LIMIT 1
            ) AS first
        ) AS own ON true
        CROSS JOIN LATERAL (
            SELECT t.transaction_id, t.product_id, t.order_no, t.period_no, t.original_transaction_id, t.purchase_date, t.is_later_copy
            FROM appstore.transactions AS t
            WHERE t.transaction_id = coalesce(own.transaction_id, p.ids[1]) AND t.environment = p_environment OFFSET 0
        ) AS charge
        LEFT JOIN LATERAL appstore.order_user(p_environment, charge.order_no, charge.period_no, charge.original_transaction_id,
                                              charge.purchase_date, charge.is_later_copy) AS o ON true
        LEFT JOIN LATERAL (
            SELECT m.user_id FROM appstore.contracts AS m
            WHERE m.original_transaction_id = p.contract AND m.environment = p_environment OFFSET 0
        ) AS m ON true
        WHERE p.latest_ever IS NOT NULL
        ORDER BY n.effect_id
        ON CONFLICT (effect_id) DO NOTHING
        RETURNING effect_id, event_id
    ), restated AS (
        -- 3. Mark the refunds of which Apple has changed the date.
        UPDATE appstore.effect_log AS e SET restated_date = moved.latest
        FROM (
            SELECT known.effect_id AS id, max(known.stated) AS latest FROM known
            WHERE date_trunc('second', known.stated) <> date_trunc('second', known.recorded) GROUP BY 1
        ) AS moved
        WHERE e.effect_id = moved.id AND (e.restated_date >= moved.latest) IS NOT TRUE
    )
    SELECT ARRAY(SELECT made.effect_id FROM made), array_agg(told.name), array_agg(told.event_id) INTO v_new, p_effect_ids, p_event_ids
    FROM (
        SELECT known.name, known.event_id FROM known
        UNION ALL
        SELECT fact.name, made.event_id FROM fact JOIN made ON made.effect_id = fact.effect_id
    ) AS told;
    IF cardinality(v_new) > 0 AND (SELECT s.is_on FROM appstore.feed_switch AS s) THEN
        PERFORM appstore.tell_effects(p_environment, v_new, '{}');
    END IF;
    RETURN QUERY SELECT unnest(p_effect_ids), unnest(p_event_ids);
END
$$;
COMMENT ON FUNCTION appstore.record_refunds IS
    'Records the refunds that these facts tell, after appstore.apply_facts and the reversals of the same transaction. p_reversed_transaction_ids: '
    'transactions whose refund a notification of the batch reverses. Returns for each of p_effect_ids, which only name the facts here, the event of '
    'the refund that the fact tells.';

-- plpgsql, both: an SQL function with a subquery is not inlined, and would be planned by each statement that calls it.
CREATE OR REPLACE FUNCTION appstore.refund_number(p_reversals timestamptz[], p_refunded_at timestamptz) RETURNS integer
LANGUAGE plpgsql STABLE AS $$
BEGIN
    IF cardinality(p_reversals) = 0 THEN
        RETURN 0;
    END IF;
    RETURN (SELECT count(*) FROM unnest(p_reversals) AS reversal (signed_date)
            WHERE date_trunc('second', reversal.signed_date) < date_trunc('second', p_refunded_at)); -- receipts have whole seconds
END
$$;
COMMENT ON FUNCTION appstore.refund_number IS 'Which refund of a purchase has this date: 0 for the first, 1 for the one after the first reversal …';

CREATE OR REPLACE FUNCTION appstore.refund_id(
    p_environment appstore.environment, p_purchase text, p_number integer, p_transaction_ids text[], p_reversals timestamptz[])
RETURNS uuid
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN coalesce(
        (SELECT e.effect_id FROM appstore.effect_log AS e
         WHERE e.transaction_id = ANY (p_transaction_ids) AND e.environment = p_environment AND e.kind = 'refunded'
           AND appstore.purchase_of_refund(e.subject) <> p_purchase AND appstore.refund_number(p_reversals, e.occurred_at) = p_number
         ORDER BY e.occurred_at, e.effect_id LIMIT 1),
        appstore.feed_id(jsonb_build_array('refunded', p_environment, p_purchase, p_number)));
END
$$;
COMMENT ON FUNCTION appstore.refund_id IS
    'The effect_id of a refund, a UUID of version 8 that is the same in every installation. Where one of the transactions was refunded before it was '
    'known to be of this purchase, that refund is the one.';

CREATE OR REPLACE FUNCTION appstore.purchase_of_refund(p_subject text) RETURNS text
LANGUAGE sql IMMUTABLE AS $$
    SELECT left(p_subject, -1 - length(substring(p_subject FROM '[^/]*$')))
$$;
COMMENT ON FUNCTION appstore.purchase_of_refund IS 'The purchase in the subject of a refund, without the number.';
