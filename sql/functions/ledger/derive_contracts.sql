CREATE OR REPLACE FUNCTION appstore.derive_contracts(p_environment appstore.environment, p_contracts text[]) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    v_contracts text[]; -- those that are left
BEGIN
    -- 1. Delete contracts without a charge that gives access and without any other fact, unless a purchase has no owner: appstore.unmatched finds
    --    it by its contract.
    WITH deleted AS (
        DELETE FROM appstore.contracts AS m
        WHERE m.original_transaction_id = ANY (p_contracts) AND m.environment = p_environment AND m.renewal_signed_date IS NULL
          AND (m.migrated_from || m.migrated_to) IS NULL
          AND NOT EXISTS (SELECT FROM appstore.transactions AS t
                          WHERE t.original_transaction_id = m.original_transaction_id AND t.environment = p_environment AND t.confers_access OFFSET 0)
          AND NOT EXISTS (SELECT FROM appstore.v1_renewals AS l
                          WHERE l.original_transaction_id = m.original_transaction_id AND l.environment = p_environment OFFSET 0)
          AND NOT EXISTS (SELECT FROM appstore.client_posts AS p
                          WHERE p.original_transaction_id = m.original_transaction_id AND p.environment = p_environment OFFSET 0)
          AND NOT EXISTS (SELECT FROM appstore.owner_links AS l
                          WHERE l.original_transaction_id = m.original_transaction_id AND l.environment = p_environment OFFSET 0)
          AND (EXISTS (SELECT FROM appstore.ownership_claims AS c
                       WHERE c.original_transaction_id = m.original_transaction_id AND c.environment = p_environment OFFSET 0)
               OR NOT EXISTS (SELECT FROM appstore.transactions AS t
                              WHERE t.original_transaction_id = m.original_transaction_id AND t.environment = p_environment AND t.is_purchased OFFSET 0))
        RETURNING m.original_transaction_id AS id
    )
    SELECT ARRAY(SELECT unnest(p_contracts) EXCEPT SELECT deleted.id FROM deleted) INTO v_contracts;
    IF cardinality(v_contracts) = 0 THEN
        RETURN;
    END IF;
    -- 2. Owner, current purchase, access. The current purchase is the latest one, or the one before it where that still runs: Apple charges a
    --    renewal up to a day early, and an upgrade that is bought then replaces it. Seats that were added to a group run beside what was bought
    --    before. A revoked current period falls back to the newest unrevoked one that ended when it began: the refund of a renewal that was
    --    charged early does not end the period before it.
    UPDATE appstore.contracts AS m
    SET user_id = new.user_id, owner_since = new.owner_since, is_contested = new.is_contested, bundle_id = new.bundle_id,
        product_id = new.product_id, product_type = new.product_type, status = new.status, will_renew = new.will_renew,
        started_at = new.started_at, current_transaction_id = new.current_transaction_id, current_period_start = new.current_period_start,
        current_period_end = new.current_period_end, revoked_at = new.revoked_at, access_until = new.access_until,
        is_unowned = new.is_unowned, seats_bought = new.seats_bought, seats_added = new.seats_added, seats_revoked = new.seats_revoked,
        commitment_until = new.commitment_until, commitment_payments_left = new.commitment_payments_left,
        commitment_will_renew = new.commitment_will_renew
    FROM (
        SELECT renewal.place, owner.user_id, owner.effective_at AS owner_since, contested.is_contested, current.bundle_id,
               coalesce(current.product_id, (renewal.register).renewal_product_id) AS product_id, current.product_type,
               appstore.renewal_status(current.purchase_date, renewal.register, v1.register) AS status,
               CASE WHEN appstore.v1_counts(renewal.register, v1.register) THEN (v1.register).auto_renew_status = 1
                    ELSE (renewal.register).auto_renew_status = 1
                         AND (commitment.will_renew OR commitment.until > current.expires_date) IS NOT FALSE END AS will_renew,
               first.purchase_date AS started_at, current.transaction_id AS current_transaction_id,
               current.purchase_date AS current_period_start, current.expires_date AS current_period_end,
               current.revocation_date AS revoked_at,
               CASE
                   WHEN current.is_subscription THEN greatest(
                       appstore.period_until(current.purchase_date, current.expires_date, current.revocation_date, current.stated_at,
                                             current.first_signed_date, (renewal.register).renewal_status, (renewal.register).renewal_date,
                                             (renewal.register).renewal_signed_date, (renewal.register).grace_period_expires_date),
                       CASE WHEN current.revocation_date IS NULL
                            THEN appstore.v1_grace_until(current.expires_date, current.first_signed_date, renewal.register, v1.register)
                            ELSE (
                                SELECT max(p.expires_date)
                                FROM (SELECT DISTINCT t.period_no FROM appstore.transactions AS t
                                      WHERE t.original_transaction_id = contract.id AND t.environment = p_environment) AS period
                                CROSS JOIN LATERAL appstore.purchase(p_environment, period.period_no) AS p
                                WHERE p.revocation_date IS NULL AND p.expires_date <= current.purchase_date)
                       END)
                   WHEN current.product_type = 'Non-Consumable' THEN coalesce(current.revocation_date, 'infinity')
                   WHEN current.product_type = 'Non-Renewing Subscription' THEN current.revocation_date
               END AS access_until,
               CASE WHEN owner.user_id IS NULL
                    THEN EXISTS (SELECT FROM appstore.orders AS o
                                 WHERE o.original_transaction_id = contract.id AND o.environment = p_environment
                                   AND o.status IN ('paid', 'partly_refunded') OFFSET 0)
                    ELSE false END AS is_unowned,
               seats.bought AS seats_bought, seats.added AS seats_added, seats.revoked AS seats_revoked, commitment.until AS commitment_until,
               commitment.payments_left AS commitment_payments_left, commitment.will_renew AS commitment_will_renew
        FROM unnest(v_contracts) AS contract (id)
        LEFT JOIN LATERAL (
            SELECT s AS register, s.ctid AS place FROM appstore.contracts AS s
            WHERE s.original_transaction_id = contract.id AND s.environment = p_environment OFFSET 0
        ) AS renewal ON true
        LEFT JOIN LATERAL (
            SELECT t.period_no FROM appstore.transactions AS t
            WHERE t.original_transaction_id = contract.id AND t.environment = p_environment
            ORDER BY t.purchase_date DESC, t.expires_date DESC NULLS LAST, length(t.transaction_id) DESC, t.transaction_id DESC LIMIT 1
        ) AS newest ON true
        LEFT JOIN LATERAL appstore.purchase(p_environment, newest.period_no) AS latest ON true
        LEFT JOIN LATERAL (
            SELECT candidate.*, count(*) OVER () > 1 AS are_several
            FROM (
                SELECT latest.*, true AS is_latest
                UNION ALL
                SELECT running.*, false
                FROM (
                    SELECT t.period_no FROM appstore.transactions AS t
                    WHERE t.original_transaction_id = contract.id AND t.environment = p_environment AND t.period_no <> newest.period_no
                    ORDER BY t.purchase_date DESC, t.expires_date DESC NULLS LAST, length(t.transaction_id) DESC, t.transaction_id DESC
                    LIMIT CASE WHEN latest.has_additions THEN 100 ELSE 1 END -- more additions to one period are not compared
                ) AS other
                CROSS JOIN LATERAL appstore.purchase(p_environment, other.period_no) AS running
                WHERE running.expires_date > latest.purchase_date
            ) AS candidate
            WHERE candidate.transaction_id IS NOT NULL
            ORDER BY CASE WHEN candidate.is_upgraded THEN 2 WHEN candidate.revocation_date IS NOT NULL THEN 1 ELSE 0 END,
                     -- The access of a group lasts as long as one of its purchases does.
                     CASE WHEN latest.has_additions THEN candidate.revocation_date END DESC,
                     -- A register that is older than one of them does not know of it.
                     coalesce(candidate.product_id = (renewal.register).renewal_product_id
                              AND (renewal.register).renewal_signed_date >= max(candidate.first_signed_date) OVER (), false) DESC,
                     candidate.is_latest DESC, candidate.purchase_date DESC, length(candidate.transaction_id) DESC, candidate.transaction_id DESC
            LIMIT 1
        ) AS current ON true
        LEFT JOIN LATERAL (
            SELECT to_timestamp(months.ends * 0.001) AS until,
                   CASE WHEN months.ahead >= 0 THEN least(months.ahead, 2147483647)::integer END AS payments_left,
                   ((renewal.register).renewal_commitment_info ->> 'commitmentAutoRenewStatus')::integer = 1 AS will_renew
            FROM (SELECT (current.commitment_info ->> 'commitmentExpiresDate')::bigint AS ends,
                         (current.commitment_info ->> 'totalBillingPeriods')::bigint
                         - (current.commitment_info ->> 'billingPeriodNumber')::bigint AS ahead) AS months
            WHERE months.ends IS NOT NULL
        ) AS commitment ON true
        LEFT JOIN LATERAL (
            -- Those of a group: of the purchases that run beside the current one what was bought, and what of it after the first transaction.
            SELECT appstore.whole_number(coalesce(sum(bought.quantity), 0)) AS bought,
                   appstore.whole_number(appstore.whole_number(coalesce(sum(bought.quantity), 0))::bigint - min(beside.first_quantity))
                       AS added,
                   appstore.whole_number(coalesce(sum(bought.revoked_seats), 0)) AS revoked
            FROM (
                SELECT DISTINCT t.period_no,
                       first_value(coalesce(t.quantity, 0)) OVER (ORDER BY t.purchase_date, length(t.transaction_id), t.transaction_id)
                           AS first_quantity
                FROM appstore.transactions AS t
                WHERE t.original_transaction_id = contract.id AND t.environment = p_environment AND t.is_purchased
                  AND current.is_purchased AND current.revoked_seats IS NOT NULL
                  AND (t.transaction_id = current.transaction_id
                       OR (appstore.is_part(t) OR current.has_additions AND NOT t.is_later_copy) AND t.product_id = current.product_id
                          AND t.expires_date > current.purchase_date AND t.purchase_date < current.expires_date AND t.is_upgraded IS NOT TRUE)
            ) AS beside
            CROSS JOIN LATERAL appstore.purchase(p_environment, beside.period_no) AS bought
            HAVING count(*) > 0
        ) AS seats ON true
        LEFT JOIN LATERAL (
            SELECT t.purchase_date FROM appstore.transactions AS t
            WHERE t.original_transaction_id = contract.id AND t.environment = p_environment
            ORDER BY t.purchase_date, t.expires_date NULLS FIRST, length(t.transaction_id), t.transaction_id LIMIT 1
        ) AS first ON true
        LEFT JOIN LATERAL (
            SELECT l AS register FROM appstore.v1_renewals AS l
            WHERE l.original_transaction_id = contract.id AND l.environment = p_environment
              AND l.bundle_id = current.bundle_id OFFSET 0
        ) AS v1 ON true
        LEFT JOIN LATERAL (
            SELECT c.user_id, c.effective_at FROM appstore.ownership_claims AS c
            WHERE c.original_transaction_id = contract.id AND c.environment = p_environment
            ORDER BY c.effective_at DESC, c.kind DESC, c.source_id DESC LIMIT 1
        ) AS owner ON true
        CROSS JOIN LATERAL (
            SELECT coalesce(current.are_several OR current.transactions > 1, false)
                OR EXISTS (SELECT FROM appstore.v1_renewals AS l
                           WHERE l.original_transaction_id = contract.id AND l.environment = p_environment OFFSET 0)
                OR EXISTS (SELECT FROM appstore.client_posts AS p
                           WHERE p.original_transaction_id = contract.id AND p.environment = p_environment OFFSET 0)
                OR EXISTS (SELECT FROM appstore.transactions AS t
                           WHERE t.original_transaction_id = contract.id AND t.environment = p_environment
                             AND t.app_account_token <> t.first_token OFFSET 0) AS is_contested
        ) AS contested
    ) AS new
    WHERE m.ctid = new.place -- the locked row that this statement has read: another look-up would read its old versions again
      AND (m.user_id, m.owner_since, m.is_contested, m.bundle_id, m.product_id, m.product_type, m.status, m.will_renew, m.started_at,
           m.current_transaction_id, m.current_period_start, m.current_period_end, m.revoked_at, m.access_until, m.is_unowned,
           m.seats_bought, m.seats_added, m.seats_revoked, m.commitment_until, m.commitment_payments_left, m.commitment_will_renew)
          IS DISTINCT FROM
          (new.user_id, new.owner_since, new.is_contested, new.bundle_id, new.product_id, new.product_type, new.status, new.will_renew,
           new.started_at, new.current_transaction_id, new.current_period_start, new.current_period_end, new.revoked_at, new.access_until,
           new.is_unowned, new.seats_bought, new.seats_added, new.seats_revoked, new.commitment_until, new.commitment_payments_left,
           new.commitment_will_renew);
    IF EXISTS (SELECT FROM appstore.contracts AS m
               WHERE m.original_transaction_id = ANY (v_contracts) AND m.environment = p_environment AND m.is_contested) THEN
        PERFORM appstore.derive_conflicts(p_environment, v_contracts);
    END IF;
END
$$;
COMMENT ON FUNCTION appstore.derive_contracts IS
    'Derives owner, current period, access and is_contested of these contracts, whose rows are locked, and deletes those without facts.';
