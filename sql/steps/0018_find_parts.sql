-- Contracts of groups, contracts that an app migrated, and those that a forgotten user has claimed: the next step derives them again.
LOCK TABLE appstore.contracts, appstore.transactions, appstore.token_orders IN EXCLUSIVE MODE;
CREATE TABLE appstore.step_parts AS
SELECT t.environment, t.original_transaction_id AS contract FROM appstore.transactions AS t
WHERE t.additional_transaction_reason IS NOT NULL OR t.multi_seat_info IS NOT NULL
UNION
SELECT m.environment, m.original_transaction_id FROM appstore.contracts AS m WHERE cardinality(m.migrated_from) > 0
UNION
SELECT k.environment, k.original_transaction_id
FROM appstore.forgotten_users AS f JOIN appstore.ownership_claims AS k ON k.user_id = f.alias;
