CREATE OR REPLACE VIEW appstore.unmatched AS
-- 1. Contracts with paid purchases that have no user: one row each. An order that the shop should have made is preferred: it may settle all.
SELECT m.environment,
       CASE WHEN u.order_no <> u.period_no THEN 'order_unknown'
            WHEN named.product_id <> u.product_id THEN 'product_mismatch'
            WHEN named.bundle_id <> u.bundle_id THEN 'bundle_mismatch'
            WHEN named.order_no IS NOT NULL AND named.ordered_at IS NULL THEN 'order_unknown'
            WHEN named.order_no IS NOT NULL THEN 'order_paid_before'
            ELSE 'no_user' END AS reason,
       CASE WHEN u.order_no <> u.period_no THEN 'create_order_or_set_user_token'
            WHEN named.order_no IS NOT NULL AND named.ordered_at IS NULL THEN 'set_user_token'
            WHEN named.order_no IS NOT NULL THEN 'link_owner_or_refund'
            ELSE 'post_or_link_owner' END AS resolution,
       coalesce(named.order_no, u.order_no) AS order_no, named.user_id, NULL::text AS owner_user_id,
       u.transaction_id, m.original_transaction_id, u.product_id, u.purchase_date,
       named.product_id AS ordered_product_id, named.bundle_id AS ordered_bundle_id, u.periods
FROM appstore.contracts AS m -- in the order of an index, so that a LIMIT ends it early
CROSS JOIN LATERAL (
    SELECT p.*, count(*) OVER () AS periods
    FROM (
        SELECT t.transaction_id, t.order_no, t.period_no, t.first_token, t.product_id, t.bundle_id, t.purchase_date
        FROM appstore.transactions AS t
        CROSS JOIN LATERAL appstore.paid_period(m.environment, t.period_no) AS paid
        WHERE t.original_transaction_id = m.original_transaction_id AND t.environment = m.environment AND t.is_purchased
          AND NOT t.is_later_copy AND paid.status <> 'refunded'
    ) AS p
    ORDER BY p.order_no = p.period_no, p.purchase_date, length(p.transaction_id), p.transaction_id LIMIT 1
) AS u
LEFT JOIN LATERAL (
    SELECT n.order_no, n.user_id, n.product_id, n.bundle_id, n.ordered_at FROM appstore.token_orders AS n
    WHERE n.order_no = u.first_token AND n.environment = m.environment AND u.order_no = u.period_no OFFSET 0
) AS named ON true
WHERE m.is_unowned
UNION ALL
-- 2. Orders whose payment belongs to another user: another product was bought than the ordered one.
SELECT n.environment, CASE WHEN n.product_id <> t.product_id THEN 'product_mismatch' ELSE 'bundle_mismatch' END, 'link_owner_or_refund',
       n.order_no, n.user_id, owner.user_id, t.transaction_id, t.original_transaction_id, t.product_id, t.purchase_date, n.product_id, n.bundle_id, 1
FROM appstore.token_orders AS n
CROSS JOIN LATERAL (
    SELECT t.* FROM appstore.transactions AS t
    WHERE t.first_token = n.order_no AND t.environment = n.environment AND t.is_purchased
    ORDER BY t.purchase_date, length(t.transaction_id), t.transaction_id LIMIT 1
) AS t
CROSS JOIN LATERAL appstore.order_user(n.environment, t.order_no, t.period_no, t.original_transaction_id, t.purchase_date, t.is_later_copy)
    AS given
CROSS JOIN LATERAL (
    SELECT appstore.owner_of(given.user_id, (SELECT m.user_id FROM appstore.contracts AS m
                                             WHERE m.original_transaction_id = t.original_transaction_id AND m.environment = n.environment))
        AS user_id
    WHERE given.user_id <> n.user_id OFFSET 0
) AS owner
CROSS JOIN LATERAL appstore.paid_period(n.environment, t.period_no) AS paid
WHERE n.reason IS NOT NULL AND t.order_no IS NOT NULL AND owner.user_id <> n.user_id AND paid.status <> 'refunded'
  AND NOT EXISTS (SELECT FROM appstore.ownership_claims AS l
                  WHERE l.original_transaction_id = t.original_transaction_id AND l.environment = n.environment AND l.kind = 'link'
                    AND l.effective_at >= t.purchase_date)
UNION ALL
-- 3. Posts of purchases that belong to another user, or that were shared or assigned and came too late: see appstore.derive_conflicts.
SELECT p.environment, p.conflict, 'link_owner', t.order_no, p.user_id,
       appstore.owner_of(o.user_id, (SELECT m.user_id FROM appstore.contracts AS m
                                     WHERE m.original_transaction_id = p.original_transaction_id AND m.environment = p.environment)),
       t.transaction_id, p.original_transaction_id, t.product_id, t.purchase_date, NULL, NULL, 1
FROM appstore.client_posts AS p
CROSS JOIN LATERAL (
    SELECT t.transaction_id, t.order_no, t.period_no, t.product_id, t.purchase_date, t.is_later_copy FROM appstore.transactions AS t
    WHERE t.transaction_id = coalesce(p.transaction_id, (SELECT m.current_transaction_id FROM appstore.contracts AS m
                                                         WHERE m.original_transaction_id = p.original_transaction_id AND m.environment = p.environment))
      AND t.environment = p.environment OFFSET 0
) AS t
LEFT JOIN LATERAL appstore.order_user(p.environment, t.order_no, t.period_no, p.original_transaction_id, t.purchase_date, t.is_later_copy)
    AS o ON p.transaction_id IS NOT NULL
WHERE p.conflict IS NOT NULL AND NOT appstore.is_forgotten(p.user_id);
COMMENT ON VIEW appstore.unmatched IS
    'Cases that need an operator''s decision: purchases that were paid and have no user, orders whose payment belongs to another user, and posts of '
    'purchases that belong to another user. A row disappears when the resolution has been carried out.';
COMMENT ON COLUMN appstore.unmatched.reason IS
    'order_unknown: paid with a token that is neither an order that the shop has made nor a user''s; product_mismatch, bundle_mismatch: what was bought is not what the order '
    'is for; order_paid_before: the order paid another purchase; no_user: nothing names a user; too_late: shared or assigned, posted more than 72 '
    'hours after the purchase; owner_conflict: user_id posted what belongs to owner_user_id.';
COMMENT ON COLUMN appstore.unmatched.resolution IS
    'create_order_or_set_user_token: make the order with order_no, or say whose token it is; set_user_token: say whose token order_no is, which '
    'several purchases have; post_or_link_owner: the app posts the purchase, or call link_owner; link_owner_or_refund: call link_owner if it is '
    'for user_id, or refund; link_owner: call it for user_id, or for owner_user_id to confirm. Where a purchase has no user, a post of it always '
    'settles it, too.';
COMMENT ON COLUMN appstore.unmatched.user_id IS 'The user who ordered or posted it.';
COMMENT ON COLUMN appstore.unmatched.owner_user_id IS 'The other user, to whom the purchase belongs today.';
COMMENT ON COLUMN appstore.unmatched.product_id IS 'The product that was bought.';
COMMENT ON COLUMN appstore.unmatched.ordered_product_id IS 'The product that was ordered.';
COMMENT ON COLUMN appstore.unmatched.ordered_bundle_id IS 'The app that it was ordered for.';
COMMENT ON COLUMN appstore.unmatched.periods IS 'How many paid periods of the contract have no user.';
