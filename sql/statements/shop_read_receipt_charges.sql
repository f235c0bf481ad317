-- Reads which transactions of a posted receipt are in the ledger, and whether the posting user or another owns them.
-- The API's listener sends it for POST /v1/receipts when the event has its outcome.
-- Returns a row for each transaction of the apps of the key that is known, in the order of the ids.
SELECT transaction_id, original_transaction_id, product_id, owner, may_finish
FROM appstore.api_receipt_charges(:key_hash::bytea, :environment::appstore.environment, :transaction_ids::text[], :user_id::text);
