-- Reads an event that a client posted, and its outcome.
-- The API's listener sends it for GET /v1/events/{id} and while a client waits for the outcome, then without the posted body.
-- Returns one row, or none when no client posted an event with this id for an environment and an app of the key.
SELECT received_at, settled_at, result, reason, environment, bundle_id, transaction_id, original_transaction_id, submission
FROM appstore.api_event(:key_hash::bytea, :event_id::bigint, :with_submission::boolean);
