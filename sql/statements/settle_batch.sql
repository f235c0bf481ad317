-- Moves events from the queue to the outcomes, and removes the crash markers of their batches; see appstore.settle.
-- A worker sends it with the COMMIT of a batch. It holds the queue rows since its claim, so that :runs cannot have changed.
-- Returns one row without a value.
--
-- :lanes     the batches whose crash markers are removed
-- all others: one element for each event
SELECT appstore.settle(
    :lanes::bigint[], :event_ids::bigint[], :sources::text[], :received_at::timestamptz[], :runs::integer[], :attempts::integer[],
    :results::appstore.result[], :reasons::text[], :last_errors::text[], :notification_types::text[], :subtypes::text[],
    :notification_uuids::uuid[], :environments::text[], :bundle_ids::text[], :transaction_ids::text[], :original_transaction_ids::text[]);
