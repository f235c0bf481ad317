-- Limits a step of the worker's maintenance that locks a whole table, until its transaction ends.
-- Returns one row.
--
-- :lock_timeout   in milliseconds: how long it waits for the lock; other sessions queue behind it meanwhile
-- :is_limited     false where it may run longer than statements of its role
SELECT set_config('lock_timeout', :lock_timeout::text, true),
       set_config('statement_timeout', CASE WHEN :is_limited::boolean THEN current_setting('statement_timeout') ELSE '0' END, true);
