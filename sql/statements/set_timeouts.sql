-- Sets how long the later statements of the transaction may take, and wait for a lock.
-- A worker sends it where a batch needs other timeouts than those that read_bodies has set: an isolated event, and a batch that is merged
-- in parts.
-- Returns one row.
--
-- in milliseconds; null for those of the role
SELECT set_config('statement_timeout', :statement_timeout::text, true), set_config('lock_timeout', :lock_timeout::text, true);
