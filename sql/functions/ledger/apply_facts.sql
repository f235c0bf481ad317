-- Derives the changes of a batch's facts, and records its effects.
CREATE OR REPLACE FUNCTION appstore.apply_facts(
    p_environment appstore.environment, p_transaction_ids text[], p_candidates text[], p_candidate_contracts text[],
    p_contract_ids text[], p_renewals text[],
    p_effect_ids uuid[], p_other_effect_ids uuid[], p_kinds text[], p_subjects text[], p_event_ids bigint[], p_occurred_at timestamptz[],
    p_original_transaction_ids text[], p_effect_transaction_ids text[], p_product_ids text[], p_vouched_bundle_ids text[],
    p_grace_period_expires_dates timestamptz[], p_bundle_ids text[], p_details jsonb[])
RETURNS SETOF uuid
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_mergejoin = off
SET jit = off AS $$
DECLARE
    v_done      text[];   -- charges that were plain
    v_contracts text[];   -- their contracts
    v_new       uuid[];   -- their new effects
    v_other     uuid[] := '{}'; -- the other new effects
    v_is_told   boolean;  -- whether the feed is on
BEGIN
    PERFORM appstore.demand_read_committed();
    WITH candidate AS MATERIALIZED (
        -- 1. Charges of known contracts of the same app, without anything that concerns more than the contract.
        SELECT t.*, m.user_id, m.current_transaction_id, m.renewal_status, m.auto_renew_status, m.renewal_signed_date, m.renewal_date,
               m.grace_period_expires_date, m.ctid AS contract_row, t.purchase_date > m.current_period_start AS is_new,
               CASE WHEN t.purchase_date > m.current_period_start
                        THEN (m.owner_since <= t.purchase_date OR m.owner_since IS NULL)
                             -- The period before it does not run any longer.
                             AND (m.current_period_end > t.purchase_date) IS NOT TRUE
                    -- The current charge may not be overtaken, and an earlier one may not overtake it.
                    WHEN t.transaction_id = m.current_transaction_id
                        THEN t.purchase_date = m.current_period_start AND (t.expires_date < m.current_period_end) IS NOT TRUE
                             AND m.revoked_at IS NULL
                    ELSE t.purchase_date < m.current_period_start AND t.purchase_date >= m.started_at AND m.revoked_at IS NULL
                         AND (t.expires_date > m.current_period_start) IS NOT TRUE END AS fits
        FROM (SELECT unnest(p_candidates) AS id, unnest(p_candidate_contracts) AS contract) AS moved
        CROSS JOIN LATERAL (
            SELECT t.transaction_id, t.original_transaction_id, t.period_no, t.order_no, t.first_token, t.product_id, t.product_type,
                   t.bundle_id, t.purchase_date, t.expires_date, t.quantity, t.price, t.currency, t.web_order_line_item_id,
                   t.first_signed_date, t.previous_original_transaction_id
            FROM appstore.transactions AS t
            WHERE t.transaction_id = moved.id AND t.environment = p_environment AND t.original_transaction_id = moved.contract
              AND t.is_subscription AND t.is_purchased
              AND t.revocation_date IS NULL AND t.left_contract IS NULL AND t.receipt_date IS NULL
              AND t.multi_seat_info IS NULL AND t.commitment_info IS NULL
              AND t.app_account_token IS NOT DISTINCT FROM t.first_token AND NOT t.token_changed OFFSET 0
        ) AS t
        CROSS JOIN LATERAL (
            SELECT m.*, m.ctid FROM appstore.contracts AS m
            WHERE m.original_transaction_id = t.original_transaction_id AND m.environment = p_environment
              AND NOT m.is_contested AND m.bundle_id = t.bundle_id AND m.renewal_signed_date IS NOT NULL
              AND m.seats_bought IS NULL AND m.commitment_until IS NULL
              AND m.migrated_to IS NULL
              AND (t.previous_original_transaction_id IS NULL OR m.migrated_from = ARRAY[t.previous_original_transaction_id]) OFFSET 0
        ) AS m
    ), plain AS MATERIALIZED (
        -- 2. Of these, those whose purchase has no other transaction, and whose order does not change. A token in a charge that pays the purchase's
        --    own order is plain if it is the number of an order that the contract paid earlier, or a user's token that the purchase before has, too.
        SELECT c.transaction_id, c.original_transaction_id, c.web_order_line_item_id, c.order_no,
               CASE WHEN c.is_new THEN c.user_id ELSE appstore.owner_of(o.user_id, c.user_id) END AS user_id, c.is_new, c.product_id,
               c.product_type, c.purchase_date, c.expires_date, c.first_signed_date, c.current_transaction_id, c.renewal_status,
               c.auto_renew_status, c.renewal_signed_date, c.renewal_date, c.grace_period_expires_date, c.contract_row
        FROM candidate AS c
        LEFT JOIN LATERAL (
            SELECT o.user_id
            FROM appstore.order_user(p_environment, c.order_no, c.period_no, c.original_transaction_id, c.purchase_date, false) AS o
            WHERE NOT c.is_new OFFSET 0
        ) AS o ON true
        CROSS JOIN LATERAL (
            SELECT NOT EXISTS (SELECT FROM appstore.transactions AS o
                               WHERE o.period_no = c.period_no AND o.environment = p_environment AND o.transaction_id <> c.transaction_id OFFSET 0)
                       AS is_alone,
                   -- Its token is the number of an order that an earlier purchase of the contract pays.
                   EXISTS (SELECT FROM appstore.token_orders AS o
                           WHERE o.order_no = c.first_token AND o.environment = p_environment
                             AND o.original_transaction_id = c.original_transaction_id AND o.paid_at < c.purchase_date OFFSET 0)
                       AS repeats_order,
                   -- Its token is a user's, and the purchase before it has the same: see appstore.contract_claims.
                   EXISTS (SELECT FROM appstore.user_tokens AS u WHERE u.token = c.first_token OFFSET 0) AND c.first_token = (
                       SELECT before.first_token FROM appstore.transactions AS before
                       WHERE before.original_transaction_id = c.original_transaction_id AND before.environment = p_environment
                         AND before.purchase_date < c.purchase_date AND before.first_token IS NOT NULL AND before.is_purchased
                         AND NOT appstore.is_copy(before.environment, before.transaction_id, before.original_transaction_id,
                                                  before.period_no, before.is_subscription, before.product_type)
                       ORDER BY before.purchase_date DESC, before.expires_date DESC NULLS LAST, length(before.transaction_id) DESC,
                                before.transaction_id DESC LIMIT 1)
                       AS repeats_user,
                   -- A token claims the contract. A late charge between two others could change that claim.
                   EXISTS (SELECT FROM appstore.ownership_claims AS k
                           WHERE k.original_transaction_id = c.original_transaction_id AND k.environment = p_environment
                             AND k.kind = 'token' OFFSET 0)
                       AS is_claimed,
                   -- It pays an order with a token already, with the same data.
                   EXISTS (SELECT FROM appstore.token_orders AS o
                           WHERE o.order_no = c.order_no AND o.environment = p_environment AND o.status = 'paid'
                             AND o.period_no = c.period_no
                             AND (o.quantity, o.price, o.currency) IS NOT DISTINCT FROM (c.quantity, c.price, c.currency) OFFSET 0)
                       AS has_paid
        ) AS it -- without OFFSET 0: each is evaluated only where the condition needs it
        WHERE c.fits AND it.is_alone
          AND CASE WHEN c.order_no IS DISTINCT FROM c.period_no THEN NOT c.is_new AND it.has_paid
                   WHEN c.first_token IS NULL OR c.transaction_id = c.current_transaction_id THEN true
                   WHEN c.is_new THEN it.repeats_order OR it.repeats_user
                   ELSE it.repeats_order AND NOT it.is_claimed END
    ), current AS (
        -- 3. The contract's current charge: the plain one, unless that is an earlier period.
        SELECT p.contract_row, p.renewal_status, p.auto_renew_status, p.renewal_signed_date, p.renewal_date,
               p.grace_period_expires_date, p.transaction_id, p.product_id, p.product_type, p.purchase_date, p.expires_date,
               p.first_signed_date
        FROM plain AS p WHERE p.is_new OR p.transaction_id = p.current_transaction_id
        UNION ALL
        SELECT p.contract_row, p.renewal_status, p.auto_renew_status, p.renewal_signed_date, p.renewal_date,
               p.grace_period_expires_date, t.transaction_id, t.product_id, t.product_type, t.purchase_date, t.expires_date,
               t.first_signed_date
        FROM plain AS p
        CROSS JOIN LATERAL (
            SELECT t.* FROM appstore.transactions AS t
            WHERE t.transaction_id = p.current_transaction_id AND t.environment = p_environment OFFSET 0
        ) AS t
        WHERE NOT p.is_new AND p.transaction_id <> p.current_transaction_id
    ), contract AS (
        UPDATE appstore.contracts AS m
        SET product_id = c.product_id, product_type = c.product_type, status = c.status, will_renew = c.auto_renew_status = 1,
            current_transaction_id = c.transaction_id, current_period_start = c.purchase_date, current_period_end = c.expires_date,
            revoked_at = NULL, access_until = c.access_until, is_unowned = m.user_id IS NULL
        FROM (
            SELECT c.*, CASE WHEN NOT earlier.is_earlier THEN c.renewal_status END AS status,
                   appstore.period_until(c.purchase_date, c.expires_date, NULL, NULL, c.first_signed_date, c.renewal_status, c.renewal_date,
                                         c.renewal_signed_date, c.grace_period_expires_date) AS access_until
            FROM current AS c
            CROSS JOIN LATERAL (
                SELECT appstore.is_of_earlier_period(c.renewal_status, c.renewal_date, c.purchase_date) AS is_earlier
            ) AS earlier
        ) AS c
        WHERE m.ctid = c.contract_row -- locked by this transaction, and read by this statement
          AND (m.product_id, m.product_type, m.status, m.will_renew, m.current_transaction_id, m.current_period_start, m.current_period_end,
               m.access_until, m.is_unowned)
              IS DISTINCT FROM
              (c.product_id, c.product_type, c.status, c.auto_renew_status = 1, c.transaction_id, c.purchase_date, c.expires_date,
               c.access_until, m.user_id IS NULL)
    ), effect AS (
        INSERT INTO appstore.effect_log (effect_id, environment, kind, subject, event_id, occurred_at, original_transaction_id, transaction_id,
                                      product_id, order_no, user_id, grace_period_expires_date, details)
        SELECT e.effect_id, p_environment, e.kind, e.subject, e.event_id, e.occurred_at, e.original_transaction_id, e.transaction_id,
               e.product_id, p.order_no, p.user_id, e.grace_period_expires_date, e.details
        FROM (
            SELECT unnest(p_effect_ids) AS effect_id, unnest(p_other_effect_ids) AS other_effect_id, unnest(p_kinds) AS kind,
                   unnest(p_subjects) AS subject, unnest(p_event_ids) AS event_id, unnest(p_occurred_at) AS occurred_at,
                   unnest(p_original_transaction_ids) AS original_transaction_id, unnest(p_effect_transaction_ids) AS transaction_id,
                   unnest(p_product_ids) AS product_id, unnest(p_vouched_bundle_ids) AS vouched_bundle_id,
                   unnest(p_grace_period_expires_dates) AS grace_period_expires_date, unnest(p_details) AS details
        ) AS e
        JOIN plain AS p ON p.transaction_id = e.transaction_id
        -- The grant of a fact that names another period than the newest one, or none, is compared with others below.
        WHERE e.vouched_bundle_id IS NULL
          AND (e.kind <> 'granted' OR e.subject = p.original_transaction_id || '/' || p.web_order_line_item_id)
          AND NOT EXISTS (SELECT FROM appstore.effect_log AS same WHERE same.effect_id = e.other_effect_id OFFSET 0)
        ORDER BY e.effect_id
        ON CONFLICT (effect_id) DO NOTHING
        RETURNING effect_id
    )
    SELECT ARRAY(SELECT plain.transaction_id FROM plain), ARRAY(SELECT plain.original_transaction_id FROM plain),
           ARRAY(SELECT effect.effect_id FROM effect)
    INTO v_done, v_contracts, v_new;
    IF cardinality(v_done) < cardinality(p_transaction_ids) OR cardinality(v_contracts) < cardinality(p_renewals)
       OR cardinality(p_contract_ids) > 0 THEN
        v_is_told := appstore.derive_ledger(
            p_environment, ARRAY(SELECT unnest(p_transaction_ids) EXCEPT SELECT unnest(v_done)), p_contract_ids, '{}',
            ARRAY(SELECT unnest(p_renewals) EXCEPT SELECT unnest(v_contracts)));
    END IF;
    -- The other effects, with order and user as they are then; the user of a contract only of the app that vouches for the effect.
    IF cardinality(v_done) < cardinality(p_transaction_ids) OR cardinality(v_new) < cardinality(p_effect_ids) THEN
        WITH effect AS (
            INSERT INTO appstore.effect_log (effect_id, environment, kind, subject, event_id, occurred_at, original_transaction_id, transaction_id,
                                          product_id, order_no, user_id, vouched_bundle_id,
                                          grace_period_expires_date, bundle_id, details)
            SELECT e.effect_id, p_environment, e.kind, e.subject, e.event_id, e.occurred_at, e.original_transaction_id, e.transaction_id,
                   e.product_id, t.order_no, appstore.owner_of(o.user_id, m.user_id), e.vouched_bundle_id,
                   e.grace_period_expires_date, e.bundle_id, e.details
            FROM (
                SELECT unnest(p_effect_ids) AS effect_id, unnest(p_other_effect_ids) AS other_effect_id, unnest(p_kinds) AS kind,
                       unnest(p_subjects) AS subject, unnest(p_event_ids) AS event_id, unnest(p_occurred_at) AS occurred_at,
                       unnest(p_original_transaction_ids) AS original_transaction_id, unnest(p_effect_transaction_ids) AS transaction_id,
                       unnest(p_product_ids) AS product_id, unnest(p_vouched_bundle_ids) AS vouched_bundle_id,
                       unnest(p_grace_period_expires_dates) AS grace_period_expires_date, unnest(p_bundle_ids) AS bundle_id,
                       unnest(p_details) AS details
            ) AS e
            LEFT JOIN LATERAL (
                SELECT t.order_no, t.period_no, t.original_transaction_id, t.purchase_date, t.is_later_copy,
                       t.original_transaction_id || '/' || t.web_order_line_item_id AS period
                FROM appstore.transactions AS t
                WHERE t.transaction_id = e.transaction_id AND t.environment = p_environment OFFSET 0
            ) AS t ON true
            LEFT JOIN LATERAL appstore.order_user(p_environment, t.order_no, t.period_no, t.original_transaction_id, t.purchase_date,
                                                  t.is_later_copy) AS o ON true
            LEFT JOIN LATERAL (
                SELECT m.user_id FROM appstore.contracts AS m
                WHERE m.original_transaction_id = e.original_transaction_id AND m.environment = p_environment
                  AND (e.vouched_bundle_id IS NULL OR m.bundle_id = e.vouched_bundle_id)
                  AND (o.user_id IS NULL OR appstore.is_forgotten(o.user_id)) OFFSET 0
            ) AS m ON true
            WHERE e.effect_id <> ALL (v_new)
              -- A charge is granted once, whether or not the fact that came first names its period. (Facts that name different periods for one
              -- charge contradict one another; each of these periods is granted.)
              AND NOT EXISTS (SELECT FROM appstore.effect_log AS same WHERE same.effect_id = e.other_effect_id OFFSET 0)
              AND NOT (e.kind = 'granted' AND e.subject = e.transaction_id AND EXISTS (
                       SELECT FROM appstore.effect_log AS same
                       WHERE same.original_transaction_id = e.original_transaction_id AND same.environment = p_environment
                         AND same.kind = 'granted' AND (same.transaction_id = e.transaction_id OR same.subject = t.period) OFFSET 0))
            ORDER BY e.effect_id
            ON CONFLICT (effect_id) DO NOTHING
            RETURNING effect_id
        )
        SELECT coalesce(array_agg(effect.effect_id), '{}') INTO v_other FROM effect;
    END IF;
    IF coalesce(v_is_told, (SELECT s.is_on FROM appstore.feed_switch AS s)) THEN
        PERFORM appstore.tell_effects(p_environment, v_new || v_other, v_contracts);
    END IF;
    RETURN QUERY SELECT unnest(v_new || v_other);
END
$$;
COMMENT ON FUNCTION appstore.apply_facts IS
    'Derives what these changes mean, and records effects; returns the ids of the effects that are new. p_transaction_ids: all transactions that '
    'were written; p_candidates: those of them that are the only one of their contract (p_candidate_contracts) here, whose contract is locked and '
    'whose renewal register is in p_renewals; p_contract_ids: contracts with new posts; p_renewals: all contracts whose rows '
    'the caller has written or locked. The p_effect_ids and following arrays are the effects, by position; p_other_effect_ids: of the grant of a '
    'period the id that it would have if the fact did not name the period, else null.';
