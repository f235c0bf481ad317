CREATE OR REPLACE VIEW appstore.repair_status AS
SELECT r.repair_id, r.action, jsonb_strip_nulls(to_jsonb(r.filter)) AS conditions, r.note, r.actor, r.asked_at, r.state, r.expected, r.repaired,
       nullif(r.checked_at, '-infinity') AS checked_at, r.ended_at, r.last_error,
       CASE WHEN r.state = 'running' AND r.repaired > 0
            THEN greatest(r.expected - r.repaired, 0) * ((statement_timestamp() - r.asked_at) / r.repaired) END AS time_left
FROM appstore.repairs AS r;
COMMENT ON VIEW appstore.repair_status IS 'The repairs that run or ran, and how far each is.';
COMMENT ON COLUMN appstore.repair_status.repair_id IS 'The number of the repair.';
COMMENT ON COLUMN appstore.repair_status.action IS 'requeue or discard.';
COMMENT ON COLUMN appstore.repair_status.conditions IS 'Which events, as appstore.repair_filter.';
COMMENT ON COLUMN appstore.repair_status.note IS 'Why.';
COMMENT ON COLUMN appstore.repair_status.actor IS 'The person or login that asked for it.';
COMMENT ON COLUMN appstore.repair_status.asked_at IS 'When it was asked for. Only events that were settled before are repaired.';
COMMENT ON COLUMN appstore.repair_status.state IS 'running, done, stopped or failed.';
COMMENT ON COLUMN appstore.repair_status.expected IS
    'The most events that it repairs: those that met the conditions then, or the limit of the actor.';
COMMENT ON COLUMN appstore.repair_status.repaired IS 'How many events were repaired so far.';
COMMENT ON COLUMN appstore.repair_status.checked_at IS 'Until when the events were settled that were checked so far: it goes by that time.';
COMMENT ON COLUMN appstore.repair_status.ended_at IS 'When it ended.';
COMMENT ON COLUMN appstore.repair_status.last_error IS 'Why the last step was not taken.';
COMMENT ON COLUMN appstore.repair_status.time_left IS 'At the rate so far; null where it has ended, or has repaired nothing yet.';
