-- The contracts whose purchases had seats added, and those that an app migrated: the next step derives them again.
LOCK TABLE appstore.contracts, appstore.transactions, appstore.token_orders, appstore.effect_log IN ACCESS EXCLUSIVE MODE;
CREATE TABLE appstore.step_parts AS
SELECT t.environment, t.original_transaction_id AS contract FROM appstore.transactions AS t WHERE t.additional_transaction_reason IS NOT NULL
UNION
SELECT m.environment, m.original_transaction_id FROM appstore.contracts AS m WHERE cardinality(m.migrated_from) > 0;
