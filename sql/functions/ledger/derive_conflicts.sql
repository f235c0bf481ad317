-- Client posts that did not make their user the owner and need an operator's decision: the posts that appstore.unmatched lists.
CREATE OR REPLACE FUNCTION appstore.derive_conflicts(p_environment appstore.environment, p_contracts text[]) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    WITH post AS MATERIALIZED (
        -- 1. The posts of these contracts.
        SELECT contract.id AS contract, p.*
        FROM unnest(p_contracts) AS contract (id)
        CROSS JOIN LATERAL (
            SELECT p.is_receipt, p.transaction_id, p.user_id, p.received_at, p.event_id, p.conflict FROM appstore.client_posts AS p
            WHERE p.original_transaction_id = contract.id AND p.environment = p_environment OFFSET 0
        ) AS p
    ), disputed AS MATERIALIZED (
        -- 2. Without the contracts that only one user posts and claims, which are most.
        SELECT posted.contract
        FROM (SELECT post.contract, min(post.user_id) AS first_user, max(post.user_id) AS last_user, bool_or(post.conflict IS NOT NULL) AS is_listed
              FROM post GROUP BY post.contract) AS posted
        CROSS JOIN LATERAL (
            SELECT min(c.user_id) AS first_user, max(c.user_id) AS last_user FROM appstore.ownership_claims AS c
            WHERE c.original_transaction_id = posted.contract AND c.environment = p_environment
        ) AS claimed
        WHERE posted.is_listed
           OR (posted.first_user, posted.last_user) IS DISTINCT FROM (claimed.first_user, claimed.last_user)
           OR claimed.first_user <> claimed.last_user
    ), refused AS (
        -- 3. Each user's first post of a purchase that another user owns, or of a shared or assigned transaction without an owner. A consumable
        --    or a contract in a receipt counts when the post names its transaction as just made, or when the contract had another owner then
        --    as well. Excluded: posts of forgotten users, posts before a later link, and contracts with a paid period without a user, which
        --    are listed themselves.
        SELECT DISTINCT ON (post.contract, post.user_id) post.contract, post.user_id, post.is_receipt, post.transaction_id,
               CASE WHEN owner.user_id IS NULL THEN 'too_late' ELSE 'owner_conflict' END AS conflict
        FROM post
        JOIN disputed ON disputed.contract = post.contract
        CROSS JOIN LATERAL (
            SELECT m.user_id, m.current_transaction_id, m.is_unowned FROM appstore.contracts AS m
            WHERE m.original_transaction_id = post.contract AND m.environment = p_environment OFFSET 0
        ) AS m
        CROSS JOIN LATERAL (
            SELECT t.order_no, t.period_no, t.purchase_date, t.is_later_copy, t.is_purchased, t.confers_access FROM appstore.transactions AS t
            WHERE t.transaction_id = coalesce(post.transaction_id, m.current_transaction_id) AND t.environment = p_environment
              AND t.original_transaction_id = post.contract OFFSET 0
        ) AS t
        LEFT JOIN LATERAL appstore.order_user(p_environment, t.order_no, t.period_no, post.contract, t.purchase_date, t.is_later_copy) AS o
            ON post.transaction_id IS NOT NULL
        CROSS JOIN LATERAL (SELECT appstore.owner_of(o.user_id, m.user_id) AS user_id) AS owner
        WHERE CASE WHEN post.transaction_id IS NOT NULL THEN owner.user_id <> post.user_id OR (owner.user_id IS NULL AND NOT t.is_purchased)
                   ELSE owner.user_id <> post.user_id AND t.confers_access AND post.user_id IS DISTINCT FROM (
                       SELECT c.user_id FROM appstore.ownership_claims AS c
                       WHERE c.original_transaction_id = post.contract AND c.environment = p_environment
                         AND c.effective_at <= post.received_at
                       ORDER BY c.effective_at DESC, c.kind DESC, c.source_id DESC LIMIT 1) END
          AND NOT appstore.is_forgotten(post.user_id)
          AND NOT EXISTS (SELECT FROM appstore.ownership_claims AS l
                          WHERE l.original_transaction_id = post.contract AND l.environment = p_environment AND l.kind = 'link'
                            AND l.effective_at >= post.received_at OFFSET 0)
          AND NOT m.is_unowned
        ORDER BY post.contract, post.user_id, post.received_at, post.event_id, post.is_receipt, post.transaction_id
    ), changed AS MATERIALIZED (
        SELECT post.contract, post.user_id, post.is_receipt, post.transaction_id, refused.conflict
        FROM post
        JOIN disputed ON disputed.contract = post.contract
        LEFT JOIN refused ON (refused.contract, refused.user_id, refused.is_receipt) = (post.contract, post.user_id, post.is_receipt)
            AND refused.transaction_id IS NOT DISTINCT FROM post.transaction_id
        WHERE post.conflict IS DISTINCT FROM refused.conflict
    )
    UPDATE appstore.client_posts AS p SET conflict = changed.conflict
    FROM changed
    WHERE p.original_transaction_id = ANY (ARRAY(SELECT changed.contract FROM changed)) -- uses the key's index under any statistics
      AND (p.original_transaction_id, p.user_id, p.is_receipt) = (changed.contract, changed.user_id, changed.is_receipt)
      AND p.environment = p_environment AND p.transaction_id IS NOT DISTINCT FROM changed.transaction_id;
END
$$;
COMMENT ON FUNCTION appstore.derive_conflicts IS 'Derives client_posts.conflict of these contracts, whose rows are locked and derived.';
