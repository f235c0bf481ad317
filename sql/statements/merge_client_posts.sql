-- Records for each user and contract the first client post, by arrival, of a transaction or of a receipt that holds the contract.
-- A worker sends it in the transaction of a batch, one element of each array for each post.
-- Returns no rows.
INSERT INTO appstore.client_posts AS p (environment, original_transaction_id, user_id, is_receipt, transaction_id, received_at, event_id)
SELECT u.*
FROM (
    SELECT unnest(:environments::appstore.environment[]) AS environment,
           unnest(:original_transaction_ids::text[] COLLATE "C") AS original_transaction_id,
           unnest(:user_ids::text[] COLLATE "C") AS user_id, unnest(:are_receipts::boolean[]) AS is_receipt,
           unnest(:transaction_ids::text[] COLLATE "C") AS transaction_id,
           unnest(:received_at::timestamptz[]) AS received_at, unnest(:event_ids::bigint[]) AS event_id
) AS u
ORDER BY u.original_transaction_id, u.environment, u.user_id, u.is_receipt, u.transaction_id
ON CONFLICT (original_transaction_id, environment, user_id, is_receipt, transaction_id) DO UPDATE
SET received_at = excluded.received_at, event_id = excluded.event_id
WHERE (excluded.received_at, excluded.event_id) < (p.received_at, p.event_id);
