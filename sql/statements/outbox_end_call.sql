-- Ends a call without an answer, and stores its fallback event where the worker asks for it.
-- A worker sends it when the call was refused or its deadline has passed.
-- Returns one row without columns, or no row when the lease is not the latest.
SELECT WHERE appstore.end_call(:call_id::bigint, :epoch::bigint, :state::text, :reason::text, :falls_back::boolean);
