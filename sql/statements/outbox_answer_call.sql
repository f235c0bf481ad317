-- Stores the bodies of a call's answer, or of one page of it, as events of the inbox, and ends the call unless there is a next page.
-- A worker sends it when the call has been answered. Answers of some kinds are no event, and have no body.
-- Returns one row without columns, or no row when the lease is not the latest.
SELECT WHERE appstore.answer_call(:call_id::bigint, :epoch::bigint, :bodies::bytea[], :answer::text::jsonb, :next::bytea);
