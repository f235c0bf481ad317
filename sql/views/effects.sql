CREATE OR REPLACE VIEW appstore.effects AS
SELECT e.effect_id, e.environment, e.kind, e.subject, e.event_id, e.occurred_at, e.recorded_at, e.original_transaction_id, e.transaction_id,
       e.product_id, t.order_no, e.user_id, e.vouched_bundle_id, e.restated_date, e.bundle_id, e.details
FROM appstore.effect_log AS e
LEFT JOIN LATERAL (
    SELECT t.order_no FROM appstore.transactions AS t
    WHERE t.transaction_id = e.transaction_id AND t.environment = e.environment OFFSET 0
) AS t ON true
-- One app's shared secret proves nothing about another app's contract. OFFSET 0 keeps it a look-up for each such effect.
WHERE e.vouched_bundle_id IS NULL
   OR NOT EXISTS (SELECT FROM appstore.transactions AS c
                  WHERE c.original_transaction_id = e.original_transaction_id AND c.environment = e.environment
                    AND c.bundle_id <> e.vouched_bundle_id OFFSET 0);
COMMENT ON VIEW appstore.effects IS
    'Each thing that happened to a customer, once: appstore.effect_log with the order of its transaction as it is now, without effects that only '
    'another app''s shared secret authenticates. Indexes find effects by effect_id and by original_transaction_id; new ones are told in appstore.feed.';
COMMENT ON COLUMN appstore.effects.kind IS 'What happened: granted, refunded, revoked …';
COMMENT ON COLUMN appstore.effects.order_no IS
    'The order of the transaction today. A refund can come before its purchase: then it is the order of the purchase from its arrival on.';
COMMENT ON COLUMN appstore.effects.restated_date IS
    'Of a refund the latest other revocationDate that Apple has given for it: it is one refund; null in almost all.';
COMMENT ON COLUMN appstore.effects.user_id IS 'The owner when it was stored; a later owner does not change it.';
COMMENT ON COLUMN appstore.effects.bundle_id IS 'The app, where no transaction of the effect names it; else null.';
COMMENT ON COLUMN appstore.effects.details IS
    'What only this notification says: identifiers, dates and counts, by kind; never a user. Null where it says nothing else.';
