-- Stores a page of the notification history: what is new in it, and the token of the next page.
-- The worker that leases the window sends it, in a transaction of its own.
-- Returns one row: how many events it stored, null when another lease has begun.
SELECT appstore.store_history_page(
    :window_id::bigint, :epoch::bigint, :seconds::integer, :token::text, :uuids::uuid[], :signed_at::timestamptz[],
    :first_attempt_at::timestamptz[], :last_attempt_at::timestamptz[], :attempts::integer[], :last_results::text[], :succeeded::boolean[],
    :bodies::bytea[]) AS stored;
