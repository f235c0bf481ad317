-- Reads what the database knows of an event.
-- appstore-inbox explain sends it, in a transaction that only reads. The binds after the first are null where the body says nothing.
-- Returns one row, whose document is null for an unknown event.
SELECT appstore.explain(
    :event_id::bigint, :environment::text, :transaction_ids::text[], :original_transaction_ids::text[], :notification_uuid::uuid,
    :effect_ids::uuid[])::text AS document;
