-- Reads the orders that a transaction names or pays.
-- appstore-inbox explain sends it, in a transaction that only reads.
-- Returns a row for each, as JSON.
SELECT row_to_json(o)::text AS row
FROM appstore.orders AS o
WHERE o.environment::text = :environment::text AND o.order_no IN (
    SELECT named.order_no
    FROM appstore.transactions AS t, unnest(ARRAY[t.order_no, t.first_token, t.app_account_token]) AS named (order_no)
    WHERE t.environment::text = :environment::text AND t.transaction_id = :transaction_id::text)
ORDER BY o.paid_at, o.order_no;
