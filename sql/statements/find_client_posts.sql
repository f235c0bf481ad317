-- Finds the first event of each of these posts, and the owner of the transaction that it names.
-- A worker sends it in the transaction of a batch, after appstore.apply_facts, one element of each array for each post.
-- Returns the key of each post, with first_event_id and owner, which is null where no transaction is named or its owner is unknown, and
-- was_forgotten: a forgotten user owned the contract, so that what that user bought is the owner's of now.
SELECT u.environment::text, u.original_transaction_id, u.user_id, u.is_receipt, u.transaction_id, p.event_id AS first_event_id,
       appstore.owner_of(o.user_id, c.user_id) AS owner,
       EXISTS (SELECT FROM appstore.ownership_claims AS k
               WHERE k.original_transaction_id = u.original_transaction_id AND k.environment = u.environment
                 AND appstore.is_forgotten(k.user_id) OFFSET 0) AS was_forgotten
FROM (
    SELECT unnest(:environments::appstore.environment[]) AS environment,
           unnest(:original_transaction_ids::text[]) AS original_transaction_id, unnest(:user_ids::text[]) AS user_id,
           unnest(:are_receipts::boolean[]) AS is_receipt, unnest(:transaction_ids::text[]) AS transaction_id
) AS u
CROSS JOIN LATERAL ( -- OFFSET 0 pins an index lookup for each element
    SELECT p.event_id FROM appstore.client_posts AS p
    WHERE p.original_transaction_id = u.original_transaction_id AND p.environment = u.environment AND p.user_id = u.user_id
      AND p.is_receipt = u.is_receipt AND p.transaction_id IS NOT DISTINCT FROM u.transaction_id OFFSET 0
) AS p
LEFT JOIN LATERAL (
    SELECT t.order_no, t.period_no, t.original_transaction_id, t.purchase_date, t.is_later_copy FROM appstore.transactions AS t
    WHERE t.transaction_id = u.transaction_id AND t.environment = u.environment OFFSET 0
) AS t ON true
LEFT JOIN LATERAL appstore.order_user(u.environment, t.order_no, t.period_no, t.original_transaction_id, t.purchase_date, t.is_later_copy) AS o
    ON true
LEFT JOIN LATERAL (
    SELECT c.user_id FROM appstore.contracts AS c
    WHERE c.original_transaction_id = t.original_transaction_id AND c.environment = u.environment OFFSET 0
) AS c ON true;
