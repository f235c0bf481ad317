-- Postpones a call after a failed attempt.
-- A worker sends it with the delay of the call's back-off, or with the one that Apple or the budget asks for.
-- Returns one row without columns, or no row when the lease is not the latest.
SELECT WHERE appstore.postpone_call(:call_id::bigint, :epoch::bigint, :reason::text,
                                    :delay_milliseconds::bigint * interval '1 millisecond', :counts_attempt::boolean);
