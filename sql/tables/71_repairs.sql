-- Repairs of all events that meet conditions, in steps.

CREATE TABLE appstore.repairs (
    repair_id        bigint      NOT NULL GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    action           text        NOT NULL COLLATE "C",
    filter           appstore.repair_filter NOT NULL,
    note             text,
    actor            text        NOT NULL,
    login            oid,
    asked_at         timestamptz NOT NULL DEFAULT clock_timestamp(),
    expected         bigint      NOT NULL,
    state            text        NOT NULL COLLATE "C" DEFAULT 'running',
    run_at           timestamptz NOT NULL DEFAULT clock_timestamp(),
    repaired         bigint      NOT NULL DEFAULT 0,
    checked_at       timestamptz NOT NULL DEFAULT '-infinity',
    checked_event_id bigint      NOT NULL DEFAULT 0,
    pace             interval    NOT NULL DEFAULT '1 second',
    due_from         timestamptz NOT NULL DEFAULT '-infinity',
    ended_at         timestamptz,
    last_error       text,
    CONSTRAINT repairs_action_is_known CHECK (action IN ('requeue', 'discard')),
    CONSTRAINT repairs_state_is_known CHECK (state IN ('running', 'done', 'stopped', 'failed')),
    CONSTRAINT repairs_ended_in_the_end CHECK ((state = 'running') = (ended_at IS NULL)),
    CONSTRAINT repairs_failed_by_an_error CHECK (state <> 'failed' OR last_error IS NOT NULL)
);
COMMENT ON TABLE appstore.repairs IS
    'Repairs of all events that meet conditions, which workers take step by step: a restart goes on with them. Each step is in audit_log, too.';
COMMENT ON COLUMN appstore.repairs.repair_id IS 'The number of the repair.';
COMMENT ON COLUMN appstore.repairs.action IS 'requeue or discard.';
COMMENT ON COLUMN appstore.repairs.filter IS 'Which events.';
COMMENT ON COLUMN appstore.repairs.note IS 'Free text of the actor, as in audit_log: do not name users here. Of a discard, the reason of the outcomes.';
COMMENT ON COLUMN appstore.repairs.actor IS 'The person or login that asked for it.';
COMMENT ON COLUMN appstore.repairs.login IS
    'The OID of that login, without whose right no step is taken; null for a person whom the proxy of the console names.';
COMMENT ON COLUMN appstore.repairs.asked_at IS 'When it was asked for. Only events that were settled before are repaired, so that each is repaired once.';
COMMENT ON COLUMN appstore.repairs.expected IS 'The most events that it repairs: those that met the conditions then, or the limit of the actor.';
COMMENT ON COLUMN appstore.repairs.state IS
    'running; done; stopped: by an operator, or since the actor is none now; failed: the database refused a step.';
COMMENT ON COLUMN appstore.repairs.run_at IS 'When its next step is due.';
COMMENT ON COLUMN appstore.repairs.repaired IS 'How many events were repaired so far.';
COMMENT ON COLUMN appstore.repairs.checked_at IS 'When the last event that was checked was settled: the walk goes by this time.';
COMMENT ON COLUMN appstore.repairs.checked_event_id IS 'That event.';
COMMENT ON COLUMN appstore.repairs.pace IS 'The time over which the next 1,000 requeued events become due.';
COMMENT ON COLUMN appstore.repairs.due_from IS 'Where the queue began at the latest step: only dead index entries lie before it.';
COMMENT ON COLUMN appstore.repairs.ended_at IS 'When it was no longer running.';
COMMENT ON COLUMN appstore.repairs.last_error IS 'Why the last step was not taken.';
-- The next step.
CREATE INDEX repairs_running ON appstore.repairs (run_at, repair_id) WHERE state = 'running';
