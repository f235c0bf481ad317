-- Inlined.
CREATE OR REPLACE FUNCTION appstore_reports.part_states(p_environment appstore.environment, p_period_no uuid, p_is_purchased boolean)
RETURNS TABLE (copy text, transaction_id text, revocation_date timestamptz, revocation_type text, revocation_percentage integer,
               is_upgraded boolean, revoked_seats integer)
LANGUAGE sql STABLE ROWS 2 AS $$
    SELECT s.transaction_id,
           first_value(s.transaction_id) OVER (
               PARTITION BY s.added_at
               ORDER BY s.added_at IS NOT NULL AND s.additional_transaction_reason IS NULL, length(s.transaction_id), s.transaction_id),
           first_value(s.revocation_date) OVER state, first_value(s.revocation_type) OVER state,
           first_value(s.revocation_percentage) OVER state, first_value(s.is_upgraded) OVER state,
           first_value((s.multi_seat_info ->> 'revokedSeatQuantity')::integer) OVER (
               PARTITION BY s.added_at
               ORDER BY s.multi_seat_info IS NULL, greatest(s.signed_date, s.receipt_date) DESC, s.revocation_date IS NULL,
                        length(s.transaction_id) DESC, s.transaction_id DESC)
    FROM (
        SELECT s.*,
               CASE WHEN s.purchase_date = ANY (array_agg(s.purchase_date)
                                                    FILTER (WHERE s.additional_transaction_reason IS NOT NULL) OVER first)
                         AND s.purchase_date <> first_value(s.purchase_date) OVER first THEN s.purchase_date END AS added_at
        FROM appstore.transactions AS s
        WHERE s.period_no = p_period_no AND s.environment = p_environment AND s.is_purchased = p_is_purchased
        WINDOW first AS (ORDER BY length(s.transaction_id), s.transaction_id ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)
    ) AS s
    WINDOW state AS (PARTITION BY s.added_at
                     ORDER BY greatest(s.signed_date, s.receipt_date) DESC, s.revocation_date IS NULL, length(s.transaction_id) DESC,
                              s.transaction_id DESC)
$$;
COMMENT ON FUNCTION appstore_reports.part_states IS
    'Of each transaction of a purchase (copy): the one that stands for its part, and what the newest statement about any copy of that part says, as '
    'in appstore.purchase.';

-- A function and not a view: where the planner expects that it returns many rows, it reads the charges in one process. It returns few.
CREATE OR REPLACE FUNCTION appstore_reports.corrections()
RETURNS TABLE (environment appstore.environment, transaction_id text, replaced_at timestamptz, grace_ends_at timestamptz, is_copied boolean,
               is_copy boolean, revocation_date timestamptz, revocation_type text, revocation_percentage integer, is_upgraded boolean,
               revoked_seats integer, period_start timestamptz, additions_expire_at timestamptz, additions_revoked_at timestamptz)
LANGUAGE sql STABLE SECURITY DEFINER PARALLEL SAFE ROWS 1000 SET search_path = pg_catalog, pg_temp SET jit = off AS $$
    SELECT r.environment, r.transaction_id, min(r.replaced_at), max(r.grace_ends_at), bool_or(r.is_copied), bool_or(r.is_copy),
           max(r.revocation_date), max(r.revocation_type), max(r.revocation_percentage), bool_or(r.is_upgraded), max(r.revoked_seats),
           min(r.period_start), max(r.additions_expire_at), max(r.additions_revoked_at)
    FROM (
        -- 1. Only a charge that the customer made can replace a period that still runs: a renewal by Apple begins when the period before it
        --    ends. The index transactions_for_corrections has these. A receipt does not say who made a charge. Seats that are added to a group
        --    replace nothing: they run beside the other parts of their period.
        SELECT c.environment, what.transaction_id, what.replaced_at, NULL::timestamptz AS grace_ends_at, false AS is_copied, false AS is_copy,
               NULL::timestamptz AS revocation_date, NULL::text AS revocation_type, NULL::integer AS revocation_percentage,
               NULL::boolean AS is_upgraded, NULL::integer AS revoked_seats, what.period_start, what.additions_expire_at, what.additions_revoked_at
        FROM appstore.transactions AS c
        CROSS JOIN LATERAL (
            SELECT array_agg(p.transaction_id) AS running,
                   (array_agg(p.transaction_id ORDER BY p.purchase_date, length(p.transaction_id), p.transaction_id)
                        FILTER (WHERE p.is_part AND p.may_count))[1] AS first_part,
                   min(p.purchase_date) FILTER (WHERE p.is_part) AS period_start,
                   coalesce(bool_or(p.may_count AND p.period_no = c.period_no AND p.purchase_date = c.purchase_date), false) AS is_copy
            FROM (
                SELECT p.transaction_id, p.purchase_date, p.period_no,
                       -- Only the first transaction of a purchase, and what Apple marks as added, counts.
                       NOT p.is_later_copy OR p.additional_transaction_reason IS NOT NULL AS may_count,
                       -- The parts of a period, of which c is a later one: what was bought of one product until one date. Apple marks all of
                       -- them when it adds a part, so two dates are of one period where Apple has told of an extension of only one of them: and
                       -- not where the customer changed the product or the plan in between.
                       c.additional_transaction_reason IS NOT NULL AND c.is_purchased AND p.product_id = c.product_id
                       AND (p.expires_date = c.expires_date
                            OR p.additional_transaction_reason IS NOT NULL AND p.is_upgraded IS NOT TRUE AND c.is_upgraded IS NOT TRUE
                               AND p.billing_plan_type IS NOT DISTINCT FROM c.billing_plan_type
                               AND NOT EXISTS (
                                   SELECT FROM appstore.transactions AS other
                                   WHERE other.original_transaction_id = c.original_transaction_id AND other.environment = c.environment
                                     AND other.is_purchased AND other.is_subscription AND other.product_id <> c.product_id
                                     AND other.purchase_date > p.purchase_date AND other.purchase_date < c.purchase_date OFFSET 0)) AS is_part
                FROM appstore.transactions AS p
                WHERE p.original_transaction_id = c.original_transaction_id AND p.environment = c.environment
                  AND p.is_purchased = c.is_purchased AND p.is_subscription AND p.expires_date > c.purchase_date
                  AND (p.period_no <> c.period_no OR c.additional_transaction_reason IS NOT NULL)
                  AND (p.purchase_date, length(p.transaction_id), p.transaction_id)
                      < (c.purchase_date, length(c.transaction_id), c.transaction_id) OFFSET 0
            ) AS p
        ) AS before
        CROSS JOIN LATERAL (
            SELECT replaced.id AS transaction_id, c.purchase_date AS replaced_at, NULL::timestamptz AS period_start,
                   NULL::timestamptz AS additions_expire_at, NULL::timestamptz AS additions_revoked_at
            FROM unnest(before.running) AS replaced (id) WHERE before.first_part IS NULL
            UNION ALL
            SELECT c.transaction_id, NULL, before.period_start, NULL, NULL WHERE before.first_part IS NOT NULL
            UNION ALL
            SELECT before.first_part, NULL, NULL, c.expires_date,
                   coalesce((SELECT s.revocation_date FROM appstore_reports.part_states(c.environment, c.period_no, true) AS s
                             WHERE s.copy = c.transaction_id), 'infinity')
            WHERE before.first_part IS NOT NULL
        ) AS what
        WHERE c.transaction_id <> c.original_transaction_id AND c.transaction_reason IS DISTINCT FROM 'RENEWAL'
          AND c.is_subscription AND (NOT c.is_later_copy OR c.additional_transaction_reason IS NOT NULL) AND NOT before.is_copy
        UNION ALL
        -- 2. What the newest statement about a purchase with copies says of it. The same index has the copies. Where seats were added, each
        --    part has its own, as in appstore.purchase.
        SELECT c.environment, what.transaction_id, NULL, NULL, what.is_copied, NOT what.is_copied, what.revocation_date, what.revocation_type,
               what.revocation_percentage, what.is_upgraded, what.revoked_seats, NULL, NULL, NULL
        FROM appstore.transactions AS c
        CROSS JOIN LATERAL (
            SELECT s.* FROM appstore_reports.part_states(c.environment, c.period_no, c.is_purchased) AS s
            WHERE s.copy = c.transaction_id
        ) AS newest
        CROSS JOIN LATERAL (
            SELECT newest.transaction_id, true AS is_copied, newest.revocation_date, newest.revocation_type, newest.revocation_percentage,
                   newest.is_upgraded, newest.revoked_seats
            UNION ALL
            SELECT c.transaction_id, false, NULL, NULL, NULL, NULL, NULL WHERE c.additional_transaction_reason IS NOT NULL
        ) AS what
        WHERE c.is_later_copy AND newest.transaction_id <> c.transaction_id
        UNION ALL
        -- 3. The grace period of the charge that the effect names, or of the last one that had ended by then: Apple charges up to a day before.
        --    All parts of the period have it.
        SELECT e.environment, part.transaction_id, NULL, e.grace_period_expires_date, false, false, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
               NULL
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
        CROSS JOIN LATERAL (
            SELECT part.transaction_id FROM appstore.transactions AS part
            WHERE part.original_transaction_id = t.original_transaction_id AND part.environment = t.environment
              AND part.is_purchased = t.is_purchased AND part.product_id = t.product_id AND part.expires_date = t.expires_date OFFSET 0
        ) AS part
        WHERE e.grace_period_expires_date > t.expires_date
          -- With a charge within the grace period, the period that failed ended as it should.
          AND NOT EXISTS (
              SELECT FROM appstore.transactions AS n
              WHERE n.original_transaction_id = e.original_transaction_id AND n.environment = e.environment
                AND n.is_purchased = t.is_purchased AND n.is_subscription AND n.purchase_date > t.purchase_date
                AND n.purchase_date <= e.grace_period_expires_date
                AND (n.product_id, n.expires_date) IS DISTINCT FROM (t.product_id, t.expires_date) OFFSET 0)
    ) AS r
    GROUP BY r.environment, r.transaction_id
$$;
COMMENT ON FUNCTION appstore_reports.corrections IS
    'What other rows say of a charge: when a later charge of the contract replaced it before its end, such as by an upgrade (replaced_at); the end '
    'of the grace period in which no charge came (grace_ends_at); of a charge that has copies (is_copied) what the newest statement about any of '
    'them says; whether it is a copy of a charge to whose period seats were added (is_copy); of seats that were added to a group the start of '
    'their period (period_start); and of the first part of such a period when the last of the seats that were added expire '
    '(additions_expire_at), and when the last of them was revoked, infinity while one is not (additions_revoked_at).';
