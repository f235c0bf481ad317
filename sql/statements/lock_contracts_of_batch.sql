-- Locks the contracts that a batch concerns, in the order of all writers, before any other row of the ledger.
-- A worker sends it as the first statement of a merge where the batch has facts of contracts other than renewal infos, whose contracts
-- merge_contracts locks. One element of each array for each contract.
-- Returns no columns, a row for each contract that exists.
SELECT FROM (
    SELECT unnest(:environments::appstore.environment[]) AS environment, unnest(:original_transaction_ids::text[]) COLLATE "C" AS id
    ORDER BY 1, 2
) AS u
CROSS JOIN LATERAL (
    SELECT FROM appstore.contracts AS c WHERE c.original_transaction_id = u.id AND c.environment = u.environment FOR UPDATE
) AS locked;
