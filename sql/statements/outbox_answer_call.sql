-- Stores the bodies of a call's answer as events of the inbox, and ends the call.
-- A worker sends it when the call has been answered. Answers of some kinds are no event, and have no body.
-- Returns one row without columns, or no row when the lease is not the latest.
SELECT WHERE appstore.answer_call(:call_id::bigint, :epoch::bigint, :bodies::bytea[]);
