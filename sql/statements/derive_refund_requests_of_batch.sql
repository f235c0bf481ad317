-- Derives which answers Apple waits for about transactions of one environment, after merge_refund_requests.
-- A worker sends it in the transaction of a batch, once for each environment, before apply_batch: it locks the rows of these transactions.
-- Returns one row without a value.
SELECT appstore.derive_refund_requests(:environment::appstore.environment, :transaction_ids::text[]);
