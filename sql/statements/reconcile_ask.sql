-- Asks Apple now for the subscriptions of the customer with this purchase.
-- appstore-inbox reconcile ask sends it as appstore_operator. :bundle_id and :environment may be null where the ledger has the purchase.
-- Returns one row: the call of the outbox.
SELECT appstore.reconcile_contract(:transaction_id::text, :bundle_id::text, :environment::appstore.environment) AS call_id;
