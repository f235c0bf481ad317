-- A function and not a view: where the planner expects that it returns many rows, it reads the charges in one process. It returns few.
CREATE OR REPLACE FUNCTION appstore_reports.corrections()
RETURNS TABLE (environment appstore.environment, transaction_id text, replaced_at timestamptz, grace_ends_at timestamptz, is_copied boolean,
               revocation_date timestamptz, revocation_type text, revocation_percentage integer, is_upgraded boolean,
               period_start timestamptz)
LANGUAGE sql STABLE SECURITY DEFINER PARALLEL SAFE ROWS 1000 SET search_path = pg_catalog, pg_temp SET jit = off AS $$
    SELECT r.environment, r.transaction_id, min(r.replaced_at), max(r.grace_ends_at), bool_or(r.is_copied), max(r.revocation_date),
           max(r.revocation_type), max(r.revocation_percentage), bool_or(r.is_upgraded), min(r.period_start)
    FROM (
        -- 1. Only a charge that the customer made can replace a period that still runs: a renewal by Apple begins when the period before it
        --    ends. The index transactions_for_corrections has these. A receipt does not say who made a charge. Seats that are added to a group
        --    replace nothing: they run beside what was bought before, from the period's start on, unless that was refunded.
        SELECT c.environment, CASE WHEN p.is_beside THEN c.transaction_id ELSE p.transaction_id END,
               CASE WHEN NOT p.is_beside THEN c.purchase_date END AS replaced_at, NULL::timestamptz AS grace_ends_at, false AS is_copied,
               NULL::timestamptz AS revocation_date, NULL::text AS revocation_type, NULL::integer AS revocation_percentage,
               NULL::boolean AS is_upgraded, CASE WHEN p.is_beside THEN p.purchase_date END AS period_start
        FROM appstore.transactions AS c
        CROSS JOIN LATERAL (
            SELECT p.transaction_id, p.purchase_date,
                   appstore.is_addition(c) AND p.product_id = c.product_id AND p.revocation_date IS NULL AS is_beside
            FROM appstore.transactions AS p
            WHERE p.original_transaction_id = c.original_transaction_id AND p.environment = c.environment
              AND p.is_purchased = c.is_purchased AND p.is_subscription AND p.expires_date > c.purchase_date
              AND (p.period_no <> c.period_no OR appstore.is_addition(c))
              AND (p.purchase_date, length(p.transaction_id), p.transaction_id)
                  < (c.purchase_date, length(c.transaction_id), c.transaction_id) OFFSET 0
        ) AS p
        WHERE c.transaction_id <> c.original_transaction_id AND c.transaction_reason IS DISTINCT FROM 'RENEWAL'
          AND c.is_subscription AND (NOT c.is_later_copy OR appstore.is_addition(c))
        UNION ALL
        -- 2. What the newest statement about a purchase with copies says of it. The same index has the copies.
        SELECT c.environment, p.transaction_id, NULL, NULL, true, p.revocation_date, p.revocation_type, p.revocation_percentage, p.is_upgraded, NULL
        FROM appstore.transactions AS c
        CROSS JOIN LATERAL appstore.purchase(c.environment, c.period_no) AS p
        WHERE c.is_later_copy AND NOT appstore.is_addition(c) AND p.is_purchased = c.is_purchased
        UNION ALL
        -- 3. The grace period of the charge that the effect names, or of the last one that had ended by then: Apple charges up to a day before.
        SELECT e.environment, t.transaction_id, NULL, e.grace_period_expires_date, false, NULL, NULL, NULL, NULL, NULL
        FROM appstore.effect_log AS e
        CROSS JOIN LATERAL (
            SELECT t.* FROM appstore.transactions AS t
            WHERE t.original_transaction_id = e.original_transaction_id AND t.environment = e.environment AND t.is_subscription
              AND (t.transaction_id = e.transaction_id
                   OR e.transaction_id IS NULL AND t.purchase_date <= e.occurred_at AND t.expires_date <= e.occurred_at + interval '24 hours')
              AND t.bundle_id = coalesce(e.vouched_bundle_id, t.bundle_id)
            ORDER BY t.purchase_date DESC, length(t.transaction_id), t.transaction_id
            LIMIT 1
        ) AS t
        WHERE e.grace_period_expires_date > t.expires_date
          -- With a charge within the grace period, the period that failed ended as it should.
          AND NOT EXISTS (
              SELECT FROM appstore.transactions AS n
              WHERE n.original_transaction_id = e.original_transaction_id AND n.environment = e.environment
                AND n.is_purchased = t.is_purchased AND n.is_subscription AND n.purchase_date > t.purchase_date
                AND n.purchase_date <= e.grace_period_expires_date OFFSET 0)
    ) AS r
    GROUP BY r.environment, r.transaction_id
$$;
COMMENT ON FUNCTION appstore_reports.corrections IS
    'What other rows say of a charge: when a later charge of the contract replaced it before its end, such as by an upgrade (replaced_at); the end of '
    'the grace period in which no charge came (grace_ends_at); of a charge that has copies (is_copied) what the newest statement about any of '
    'them says; and of seats that were added to a group the start of their period (period_start).';
