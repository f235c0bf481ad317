CREATE VIEW appstore.consumption_requests AS
SELECT c.environment, c.transaction_id, c.is_open AS open, c.asked_at, c.due_at,
       CASE WHEN NOT c.is_open THEN c.answered_at END AS answered_at, c.reason, c.original_transaction_id, t.product_id,
       coalesce(o.user_id, m.user_id) AS user_id, t.order_no
FROM appstore.consumption_obligations AS c
LEFT JOIN LATERAL (
    SELECT t.product_id, t.order_no FROM appstore.transactions AS t
    WHERE t.transaction_id = c.transaction_id AND t.environment = c.environment OFFSET 0
) AS t ON true
LEFT JOIN LATERAL (
    SELECT o.user_id FROM appstore.orders AS o WHERE o.order_no = t.order_no AND o.environment = c.environment OFFSET 0
) AS o ON true
LEFT JOIN LATERAL (
    SELECT m.user_id FROM appstore.contracts AS m
    WHERE m.original_transaction_id = c.original_transaction_id AND m.environment = c.environment OFFSET 0
) AS m ON true
WHERE c.asked_at IS NOT NULL;
COMMENT ON VIEW appstore.consumption_requests IS
    'Apple''s requests about purchases whose refund it considers, until it has decided: a row for each transaction. Answer the open ones until '
    'due_at, then call appstore.consumption_answered.';
COMMENT ON COLUMN appstore.consumption_requests.asked_at IS 'The first request since Apple''s last decision; Apple repeats it and wants one answer.';
COMMENT ON COLUMN appstore.consumption_requests.reason IS 'Apple''s consumptionRequestReason.';
COMMENT ON COLUMN appstore.consumption_requests.open IS 'Whether Apple waits for an answer.';
COMMENT ON COLUMN appstore.consumption_requests.due_at IS 'Twelve hours after asked_at.';
COMMENT ON COLUMN appstore.consumption_requests.answered_at IS 'When you called appstore.consumption_answered; null while it is open.';
COMMENT ON COLUMN appstore.consumption_requests.user_id IS 'The user of the order, else the owner of the contract.';
