CREATE OR REPLACE FUNCTION appstore.explain_user(
    user_id text, environment appstore.environment DEFAULT 'Production', max_rows integer DEFAULT 1000)
RETURNS jsonb
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' SET enable_seqscan = off SET jit = off AS $$
#variable_conflict use_column
DECLARE
    v_user        text := explain_user.user_id;
    v_environment appstore.environment := explain_user.environment;
    v_contracts   text[];
    v_orders      jsonb;
    v_posts       jsonb;
    v_story       jsonb;
    v_length      bigint;
BEGIN
    -- 1. What the user owns or owned, paid for or posted. The ids of Apple grow: these are the latest purchases.
    v_contracts := ARRAY(
        SELECT c.original_transaction_id FROM appstore.contracts_of(v_user) AS c WHERE c.environment = v_environment
        ORDER BY length(c.original_transaction_id) DESC, c.original_transaction_id DESC LIMIT 100);
    SELECT jsonb_agg(to_jsonb(o) - 'environment' - 'user_id' ORDER BY coalesce(o.ordered_at, o.paid_at), o.order_no) INTO v_orders
    FROM (SELECT u.* FROM appstore.user_orders AS u WHERE u.user_id = v_user AND u.environment = v_environment
          ORDER BY coalesce(u.ordered_at, u.paid_at) DESC, u.order_no DESC LIMIT max_rows) AS o;

    -- 2. Posts that wait or had no effect. The user stands in the body, which the caller may not read: nothing else of it is shown.
    SELECT jsonb_agg(to_jsonb(p) ORDER BY p.event_id) INTO v_posts
    FROM (
        SELECT i.event_id, i.source, i.received_at, o.result, o.reason
        FROM (
            SELECT i.* FROM appstore.inbox AS i WHERE i.source = 'client_transaction' AND appstore.posted_by(i.body) = v_user
            UNION ALL
            SELECT i.* FROM appstore.inbox AS i WHERE i.source = 'client_receipt' AND appstore.posted_by(i.body) = v_user
        ) AS i
        LEFT JOIN LATERAL (
            SELECT o.result, o.reason FROM appstore.outcomes AS o WHERE o.event_id = i.event_id OFFSET 0
        ) AS o ON true
        WHERE coalesce(o.result NOT IN ('applied', 'superseded', 'no_effect', 'duplicate'), true)
          AND (SELECT s.environment FROM appstore.posted_scope(i.body) AS s) = v_environment
        ORDER BY i.event_id DESC LIMIT max_rows
    ) AS p;
    IF v_contracts = '{}' AND v_orders IS NULL AND v_posts IS NULL THEN
        RETURN NULL;
    END IF;

    -- 3. The latest entries of all timelines.
    SELECT jsonb_agg(to_jsonb(s) - 'place' - 'length' ORDER BY s.place DESC), max(s.length) INTO v_story, v_length
    FROM (
        SELECT t.occurred_at, t.learned_at, t.event_id, t.what, c.id AS original_transaction_id, t.transaction_id, t.product_id, t.order_no,
               t.user_id, t.detail, row_number() OVER (ORDER BY t.occurred_at DESC, c.id DESC, t.place DESC) AS place, count(*) OVER () AS length
        FROM unnest(v_contracts) AS c (id)
        CROSS JOIN LATERAL (SELECT e.*, row_number() OVER () AS place FROM appstore.entries_about(v_environment, c.id) AS e) AS t
        ORDER BY 11 LIMIT max_rows
    ) AS s;

    RETURN jsonb_strip_nulls(jsonb_build_object(
        'user_id', v_user,
        'environment', v_environment,
        'entitlements', (
            SELECT jsonb_agg(to_jsonb(e) - 'environment' - 'user_id'
                             ORDER BY e.active DESC, e.until DESC NULLS LAST, e.entitlement, e.original_transaction_id)
            FROM appstore.entitlements AS e WHERE e.user_id = v_user AND e.environment = v_environment),
        'orders', v_orders,
        'contracts', (
            SELECT jsonb_agg(jsonb_build_object(
                       'original_transaction_id', m.original_transaction_id, 'bundle_id', m.bundle_id, 'product_id', m.product_id,
                       'status', m.status, 'will_renew', m.will_renew, 'auto_renew_product_id', m.auto_renew_product_id,
                       'renewal_date', m.renewal_date, 'grace_period_expires_date', m.grace_period_expires_date,
                       'current_period_end', m.current_period_end, 'revoked_at', m.revoked_at, 'access_until', m.access_until,
                       'user_id', m.user_id, 'owner_since', m.owner_since)
                   ORDER BY m.started_at, m.original_transaction_id)
            FROM appstore.contracts AS m WHERE m.original_transaction_id = ANY (v_contracts) AND m.environment = v_environment),
        'unmatched', (
            SELECT jsonb_agg(to_jsonb(u) - 'environment' ORDER BY u.purchase_date, u.transaction_id)
            FROM unnest(v_contracts) AS c (id)
            CROSS JOIN LATERAL (
                SELECT u.* FROM appstore.unmatched AS u WHERE u.original_transaction_id = c.id AND u.environment = v_environment OFFSET 0
            ) AS u),
        'posts', v_posts,
        'timeline', v_story,
        'timeline_length', v_length));
END
$$;
COMMENT ON FUNCTION appstore.explain_user IS
    'Everything that the database knows of a user in one environment: entitlements, orders, contracts that are or were the user''s or that the user '
    'posted, what of these is unmatched, posts that wait or were refused, and the timelines, oldest first; members that have nothing to say are '
    'absent. Of orders, posts and entries of the timeline the latest max_rows, of at most 100 contracts. null for an unknown user.';
