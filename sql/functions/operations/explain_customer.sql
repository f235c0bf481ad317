CREATE OR REPLACE FUNCTION appstore.explain_customer(
    user_id text DEFAULT NULL, original_transaction_id text DEFAULT NULL, environment appstore.environment DEFAULT 'Production',
    before bigint DEFAULT NULL, max_rows integer DEFAULT 1000)
RETURNS jsonb
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' SET enable_seqscan = off SET jit = off AS $$
#variable_conflict use_column
DECLARE
    v_user        text := explain_customer.user_id;
    v_contract    text := explain_customer.original_transaction_id;
    v_environment appstore.environment := explain_customer.environment;
    v_contracts   text[];
    v_orders      jsonb;
    v_posts       jsonb;
    v_downloads   jsonb;
    v_story       jsonb;
    v_length      bigint;
BEGIN
    PERFORM appstore.check_argument((v_user IS NULL) <> (v_contract IS NULL), 'a customer is either a user or a contract',
                                    'Pass user_id or original_transaction_id.');
    -- 1. A contract and those from or to which it has migrated, with the orders that their charges name; or what the user owns or owned, paid
    --    for or posted. The ids of Apple grow: these are the latest purchases.
    IF v_user IS NULL THEN
        v_contracts := appstore.with_migrated(v_environment, ARRAY[v_contract], true, true);
        SELECT jsonb_agg(to_jsonb(o) - 'environment' ORDER BY coalesce(o.ordered_at, o.paid_at), o.order_no) INTO v_orders
        FROM (
            SELECT s.*
            FROM (
                SELECT DISTINCT named.order_no
                FROM appstore.transactions AS t, unnest(ARRAY[t.order_no, t.first_token, t.app_account_token]) AS named (order_no)
                WHERE t.original_transaction_id = ANY (v_contracts) AND t.environment = v_environment
            ) AS named
            CROSS JOIN LATERAL (
                SELECT s.* FROM appstore.order_status AS s WHERE s.order_no = named.order_no AND s.environment = v_environment OFFSET 0
            ) AS s
            ORDER BY coalesce(s.ordered_at, s.paid_at) DESC, s.order_no DESC LIMIT max_rows
        ) AS o;
    ELSE
        v_contracts := ARRAY(
            SELECT c.original_transaction_id FROM appstore.contracts_of(v_user) AS c WHERE c.environment = v_environment
            ORDER BY length(c.original_transaction_id) DESC, c.original_transaction_id DESC LIMIT 100);
        SELECT jsonb_agg(to_jsonb(o) - 'environment' - 'user_id' ORDER BY coalesce(o.ordered_at, o.paid_at), o.order_no) INTO v_orders
        FROM (SELECT u.* FROM appstore.user_orders AS u WHERE u.user_id = v_user AND u.environment = v_environment
              ORDER BY coalesce(u.ordered_at, u.paid_at) DESC, u.order_no DESC LIMIT max_rows) AS o;
    END IF;

    -- 2. Posts that wait or had no effect. The user stands in the body, which the caller may not read: nothing else of it is shown.
    SELECT jsonb_agg(to_jsonb(p) ORDER BY p.event_id) INTO v_posts
    FROM (
        SELECT i.event_id, i.source, i.received_at, o.result, o.reason
        FROM (
            SELECT i.* FROM appstore.inbox AS i WHERE i.source = 'client_transaction' AND appstore.posted_by(i.body) = v_user
            UNION ALL
            SELECT i.* FROM appstore.inbox AS i WHERE i.source = 'client_receipt' AND appstore.posted_by(i.body) = v_user
            UNION ALL
            SELECT i.* FROM appstore.inbox AS i WHERE i.source = 'client_app_transaction' AND appstore.posted_by(i.body) = v_user
        ) AS i
        LEFT JOIN LATERAL (
            SELECT o.result, o.reason FROM appstore.outcomes AS o WHERE o.event_id = i.event_id OFFSET 0
        ) AS o ON true
        WHERE coalesce(o.result NOT IN ('applied', 'superseded', 'no_effect', 'duplicate'), true)
          AND (SELECT s.environment FROM appstore.posted_scope(i.body) AS s) = v_environment
        ORDER BY i.event_id DESC LIMIT max_rows
    ) AS p;

    -- 3. Downloads of the apps: the user's, or those that charges of the contract name.
    SELECT jsonb_agg(jsonb_build_object(
               'app_transaction_id', a.app_transaction_id, 'bundle_id', a.bundle_id, 'original_application_version', a.original_application_version,
               'application_version', a.application_version, 'original_purchase_date', a.original_purchase_date,
               'original_platform', a.original_platform, 'preorder_date', a.preorder_date, 'revocation_date', a.revocation_date,
               'posted_at', a.posted_at)
           ORDER BY a.original_purchase_date, a.app_transaction_id) INTO v_downloads
    FROM (
        SELECT u.app_transaction_id FROM appstore.user_app_transactions AS u WHERE u.user_id = v_user AND u.environment = v_environment
        UNION
        SELECT t.app_transaction_id FROM appstore.transactions AS t
        WHERE v_user IS NULL AND t.original_transaction_id = ANY (v_contracts) AND t.environment = v_environment
        LIMIT max_rows
    ) AS named (id)
    CROSS JOIN LATERAL (
        SELECT a.* FROM appstore.app_transactions AS a WHERE a.app_transaction_id = named.id AND a.environment = v_environment OFFSET 0
    ) AS a;

    -- 4. The latest entries of all timelines, numbered from the oldest one.
    SELECT jsonb_agg(to_jsonb(s) - 'length' ORDER BY s.place), max(s.length) INTO v_story, v_length
    FROM (
        SELECT t.occurred_at, t.learned_at, t.event_id, t.what, c.id AS original_transaction_id, t.transaction_id, t.product_id, t.order_no,
               t.user_id, t.detail, row_number() OVER (ORDER BY t.occurred_at, c.id, t.place) AS place, count(*) OVER () AS length
        FROM unnest(v_contracts) AS c (id)
        CROSS JOIN LATERAL (SELECT e.*, row_number() OVER () AS place FROM appstore.entries_about(v_environment, c.id) AS e) AS t
    ) AS s
    WHERE s.place < coalesce(before, s.length + 1) AND s.place >= least(coalesce(before, s.length + 1), s.length + 1) - max_rows;
    IF (v_user IS NOT NULL AND v_contracts = '{}' AND v_orders IS NULL AND v_posts IS NULL AND v_downloads IS NULL)
       OR (v_contract IS NOT NULL AND v_story IS NULL AND NOT appstore.is_known_purchase(v_environment, v_contract, NULL)) THEN
        RETURN NULL;
    END IF;

    RETURN jsonb_strip_nulls(jsonb_build_object(
        'user_id', v_user,
        'original_transaction_id', v_contract,
        'environment', v_environment,
        'entitlements', (
            SELECT jsonb_agg(jsonb_build_object(
                       'entitlement', e.entitlement, 'product_id', e.product_id, 'until', e.until, 'will_renew', e.will_renew,
                       'active', appstore.is_active(statement_timestamp(), e.active_until), 'active_until', e.active_until,
                       'in_grace', appstore.is_in_grace(statement_timestamp(), e.until, e.grace_from),
                       'why', appstore.access_state(statement_timestamp(), e.until, e.active_until, e.grace_from, e.why_ended),
                       'original_transaction_id', e.original_transaction_id, 'bundle_id', e.bundle_id,
                       'seats', e.seats, 'commitment_until', e.commitment_until, 'commitment_will_renew', e.commitment_will_renew)
                   ORDER BY appstore.is_active(statement_timestamp(), e.active_until) DESC, e.until DESC NULLS LAST, e.entitlement,
                            e.original_transaction_id)
            FROM (
                SELECT t.* FROM appstore.entitlement_terms AS t WHERE t.user_id = v_user AND t.environment = v_environment
                UNION ALL
                SELECT t.* FROM appstore.entitlement_terms AS t WHERE v_user IS NULL AND t.original_transaction_id = ANY (v_contracts) AND t.environment = v_environment
            ) AS e),
        'orders', v_orders,
        'contracts', (
            SELECT jsonb_agg(jsonb_build_object(
                       'original_transaction_id', m.original_transaction_id, 'bundle_id', m.bundle_id, 'product_id', m.product_id,
                       'status', m.status, 'will_renew', m.will_renew, 'auto_renew_product_id', m.auto_renew_product_id,
                       'renewal_date', m.renewal_date, 'grace_period_expires_date', m.grace_period_expires_date,
                       'current_period_end', m.current_period_end, 'revoked_at', m.revoked_at, 'access_until', m.access_until,
                       'active', appstore.is_active(statement_timestamp(), term.active_until), 'active_until', term.active_until,
                       'user_id', m.user_id, 'owner_since', m.owner_since, 'seats', appstore.seats_of(m, c.multi_seat_info),
                       'commitment', appstore.commitment_of(m, c.commitment_info), 'currency', c.currency)
                   ORDER BY m.started_at, m.original_transaction_id)
            FROM appstore.contracts AS m
            CROSS JOIN LATERAL (SELECT s.leeway FROM appstore.access_settings AS s WHERE s.is_only OFFSET 0) AS s
            LEFT JOIN LATERAL (
                SELECT c.is_upgraded, c.multi_seat_info, c.commitment_info, c.currency FROM appstore.transactions AS c
                WHERE c.transaction_id = m.current_transaction_id AND c.environment = m.environment OFFSET 0
            ) AS c ON true
            CROSS JOIN LATERAL appstore.active_until(
                m.access_until, m.will_renew, m.status, m.revoked_at, c.is_upgraded, s.leeway) AS term (active_until)
            WHERE m.original_transaction_id = ANY (v_contracts) AND m.environment = v_environment),
        'app_transactions', v_downloads,
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
COMMENT ON FUNCTION appstore.explain_customer IS
    'Everything that the database knows of a user, or of a contract and those from or to which it has migrated, in one environment: entitlements, orders, contracts that are or were the '
    'user''s or that the user posted, downloads of apps, what of these is unmatched, posts of the user that wait or were refused, and the timelines, oldest first; '
    'members that have nothing to say are absent. Of orders, posts and entries of the timeline the latest max_rows, of at most 100 contracts; with '
    'before, the entries before that place. null for an unknown user or purchase.';
