-- Derives which answers Apple waits for about transactions of one environment, after merge_refund_requests.
-- A worker sends it in the transaction of a batch, once for each environment, after apply_batch: it may lock calls, which come after orders.
-- Returns one row without a value.
SELECT appstore.derive_refund_requests(:environment::appstore.environment, :transaction_ids::text[]);
