-- Records the contracts of events that are about more than one: an outcome has a column for one.
-- A worker sends it as the last merge of a batch's transaction, one element of each array for each event and contract.
-- Returns no rows.
INSERT INTO appstore.event_contracts (environment, original_transaction_id, event_id)
SELECT u.*
FROM (
    SELECT unnest(:environments::appstore.environment[]) AS environment,
           unnest(:original_transaction_ids::text[] COLLATE "C") AS original_transaction_id, unnest(:event_ids::bigint[]) AS event_id
) AS u
ORDER BY u.original_transaction_id, u.environment, u.event_id
ON CONFLICT DO NOTHING;
