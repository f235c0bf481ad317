-- after the definitions
-- Each part of a purchase counts as the newest statement about any copy of it says, and submissions from before a migration are judged with those
-- after it. The feed tells what differs, once. Some hundred contracts a call, since the derivation is made for batches.
SELECT appstore.derive_ledger(
    slice.environment,
    ARRAY(SELECT t.transaction_id FROM appstore.transactions AS t
          WHERE t.original_transaction_id = ANY (slice.ids) AND t.environment = slice.environment ORDER BY t.transaction_id),
    slice.ids,
    p_is_exclusive => true) -- the step before has locked all
FROM (
    SELECT due.environment, array_agg(due.contract ORDER BY due.contract) AS ids
    FROM (
        SELECT c.environment, c.contract, (row_number() OVER (PARTITION BY c.environment ORDER BY c.contract) - 1) / 500 AS number
        FROM appstore.step_parts AS c
    ) AS due
    GROUP BY due.environment, due.number
    ORDER BY due.environment, due.number
) AS slice;
DROP TABLE appstore.step_parts;
