CREATE OR REPLACE FUNCTION appstore.contracts_of(user_id text)
RETURNS TABLE (environment appstore.environment, original_transaction_id text, is_owned boolean)
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET jit = off AS $$
    SELECT found.environment, found.id, bool_or(found.is_owned)
    FROM (
        SELECT k.environment, k.original_transaction_id, true FROM appstore.ownership_claims AS k WHERE k.user_id = contracts_of.user_id
        UNION ALL -- links, also those that were taken back; one in force is a claim
        SELECT l.environment, l.original_transaction_id, false FROM appstore.owner_links AS l WHERE l.user_id = contracts_of.user_id
        UNION ALL
        SELECT m.environment, m.original_transaction_id, true FROM appstore.contracts AS m WHERE m.user_id = contracts_of.user_id
        UNION ALL -- charges that name an order of the user, paid by them or not
        SELECT o.environment, t.original_transaction_id, true
        FROM appstore.token_orders AS o
        CROSS JOIN LATERAL (
            SELECT t.original_transaction_id FROM appstore.transactions AS t
            WHERE t.first_token = o.order_no AND t.environment = o.environment
            UNION ALL
            SELECT t.original_transaction_id FROM appstore.transactions AS t
            WHERE t.app_account_token = o.order_no AND t.environment = o.environment AND t.app_account_token <> t.first_token
        ) AS t
        WHERE o.user_id = contracts_of.user_id AND o.ordered_at IS NOT NULL
        UNION ALL -- charges that name the user's token
        SELECT t.environment, t.original_transaction_id, true
        FROM appstore.user_tokens AS u
        CROSS JOIN LATERAL (
            SELECT t.environment, t.original_transaction_id FROM appstore.transactions AS t WHERE t.first_token = u.token
            UNION ALL
            SELECT t.environment, t.original_transaction_id FROM appstore.transactions AS t
            WHERE t.app_account_token = u.token AND t.app_account_token <> t.first_token
        ) AS t
        WHERE u.user_id = contracts_of.user_id
        UNION ALL
        SELECT p.environment, p.original_transaction_id, false FROM appstore.client_posts AS p WHERE p.user_id = contracts_of.user_id
    ) AS found (environment, id, is_owned)
    GROUP BY found.environment, found.id
$$;
COMMENT ON FUNCTION appstore.contracts_of IS
    'The contracts of a user, in both environments. is_owned: the user is or was the owner, or paid for it; otherwise the user only posted a '
    'transaction or receipt of it, or a link to the user was taken back.';
