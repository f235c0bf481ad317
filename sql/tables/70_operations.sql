-- Data of operators and maintenance: audit, repairs, retention.

-- The console acts for people who have no sessions of their own. Only of its role a setting is believed.
CREATE FUNCTION appstore.actor() RETURNS text
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT coalesce(CASE WHEN session_user = 'appstore_console' THEN nullif(current_setting('appstore.actor', true), '') END, session_user::text)
$$;
COMMENT ON FUNCTION appstore.actor IS
    'Who acts: the login, or the person whom the console names in the setting appstore.actor of its transaction.';

CREATE TABLE appstore.audit_log (
    audit_id  bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at        timestamptz NOT NULL,
    actor     text        NOT NULL,
    action    text        NOT NULL COLLATE "C",
    event_ids bigint[]    NOT NULL,
    note      text,
    details   jsonb
);
COMMENT ON TABLE appstore.audit_log IS 'Every repair and every change of keys: the actor, the action, the events and the reason.';
COMMENT ON COLUMN appstore.audit_log.audit_id IS 'The number of the entry.';
COMMENT ON COLUMN appstore.audit_log.at IS 'When it was done.';
COMMENT ON COLUMN appstore.audit_log.actor IS 'The login that did it, or the person who used the console.';
COMMENT ON COLUMN appstore.audit_log.action IS 'What was done: requeue, discard, link_owner, forget, make_api_key …';
COMMENT ON COLUMN appstore.audit_log.event_ids IS 'The events that were changed. A repair writes a row for each step.';
COMMENT ON COLUMN appstore.audit_log.note IS
    'Free text of the actor. appstore.forget erases that of the user''s links and searches no other: do not name users here.';
COMMENT ON COLUMN appstore.audit_log.details IS
    'Depends on the action: the conditions of a repair, the alias of a forgotten user, a key. Where user_id names a user, appstore.forget '
    'replaces it.';
-- The repairs of an event.
CREATE INDEX audit_log_by_event ON appstore.audit_log USING gin (event_ids);
-- The entries that name a user, for appstore.forget.
CREATE INDEX audit_log_by_user ON appstore.audit_log ((details ->> 'user_id')) WHERE details ->> 'user_id' IS NOT NULL;

CREATE TYPE appstore.repair_filter AS (
    result            appstore.result,
    reason            text,
    notification_type text,
    subtype           text,
    environment       appstore.environment,
    bundle_id         text,
    received_from     timestamptz,
    received_before   timestamptz
);
COMMENT ON TYPE appstore.repair_filter IS 'Which outcomes a repair selects: those that meet every condition. A null condition is ignored.';

CREATE TABLE appstore.retention (
    is_only           boolean  NOT NULL DEFAULT true PRIMARY KEY,
    bodies            interval DEFAULT '90 days',
    outcomes          interval,
    rejected_bodies   interval NOT NULL DEFAULT '1 day',
    rejected_outcomes interval NOT NULL DEFAULT '30 days',
    notifications     interval NOT NULL DEFAULT '200 days',
    feed              interval NOT NULL DEFAULT '30 days',
    deliveries        interval NOT NULL DEFAULT '3 days',
    failed_deliveries interval NOT NULL DEFAULT '30 days',
    history           interval NOT NULL DEFAULT '30 days',
    import_bodies     interval DEFAULT '3 days',
    partition_events  bigint   NOT NULL DEFAULT 1000000,
    CONSTRAINT retention_is_one_row CHECK (is_only),
    CONSTRAINT retention_bodies_a_day CHECK (bodies >= interval '1 day'),
    CONSTRAINT retention_outcomes_outlive_bodies CHECK (outcomes IS NULL OR (bodies IS NOT NULL AND outcomes >= bodies)),
    CONSTRAINT retention_rejected_bodies_an_hour CHECK (rejected_bodies >= interval '1 hour'),
    CONSTRAINT retention_rejected_outcomes_outlive_bodies CHECK (rejected_outcomes >= rejected_bodies),
    CONSTRAINT retention_notifications_outlive_history CHECK (notifications >= interval '181 days'),
    CONSTRAINT retention_feed_a_day CHECK (feed >= interval '1 day'),
    CONSTRAINT retention_deliveries_an_hour CHECK (deliveries >= interval '1 hour'),
    CONSTRAINT retention_failed_deliveries_outlive_others CHECK (failed_deliveries >= deliveries),
    -- A second walk, after nine days, compares with the records of the first.
    CONSTRAINT retention_history_outlives_second_walk CHECK (history >= interval '12 days'),
    CONSTRAINT retention_import_bodies_an_hour CHECK (import_bodies >= interval '1 hour'),
    CONSTRAINT retention_partition_events_sensible CHECK (partition_events BETWEEN 1000 AND 1000000000)
);
INSERT INTO appstore.retention DEFAULT VALUES;
COMMENT ON TABLE appstore.retention IS 'One row of settings, which an operator changes by UPDATE. null means for ever.';
COMMENT ON COLUMN appstore.retention.is_only IS 'Always true: the key of the only row.';
COMMENT ON COLUMN appstore.retention.bodies IS
    'How long raw bodies are kept after the event''s outcome. What they say is in the ledger, and Apple lists notifications for 180 days.';
COMMENT ON COLUMN appstore.retention.outcomes IS 'How long outcomes and their history are kept.';
COMMENT ON COLUMN appstore.retention.rejected_bodies IS
    'How long bodies of rejected events are kept in which nothing could be verified: anyone can post such a body.';
COMMENT ON COLUMN appstore.retention.rejected_outcomes IS 'How long the outcomes of those events are kept.';
COMMENT ON COLUMN appstore.retention.notifications IS
    'How long seen_notifications remembers a notification. Apple retries for days, and its notification history repeats 180 days: a copy that '
    'comes later is called superseded, no_effect or unhandled instead of duplicate.';
COMMENT ON COLUMN appstore.retention.feed IS
    'How long the feed is kept; up to twice as long for a named consumer or an enabled endpoint that is behind.';
COMMENT ON COLUMN appstore.retention.deliveries IS 'How long delivery_attempts is kept.';
COMMENT ON COLUMN appstore.retention.failed_deliveries IS 'How long the attempts of it that failed are kept.';
COMMENT ON COLUMN appstore.retention.history IS 'How long history_records is kept, whose records are then only counted, and closed windows.';
COMMENT ON COLUMN appstore.retention.import_bodies IS
    'How long the bodies of imports are kept after the event''s outcome: what Apple said can be asked again.';
COMMENT ON COLUMN appstore.retention.partition_events IS
    'The least ids in a partition of the inbox; one of outcomes gets eight times as many. Both get more, a fifth of those in use, so that there '
    'are never more than some fifty. Where bodies age, the worker also closes a partition of the inbox after an eighth of their age, or after a '
    'twenty-fourth where it has this many events, in each case after at least a day.';

CREATE TABLE appstore.maintenance_state (
    task       text        NOT NULL PRIMARY KEY COLLATE "C",
    started_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    settled_at timestamptz NOT NULL DEFAULT '-infinity',
    event_id   bigint      NOT NULL DEFAULT 0,
    kept       bigint[]    NOT NULL DEFAULT '{}',
    not_before timestamptz NOT NULL DEFAULT '-infinity'
);
COMMENT ON TABLE appstore.maintenance_state IS
    'How far each task of maintenance is: the walks of appstore.expire, expire_notifications and expire_deliveries, and the checks of '
    'aged partitions by appstore.drop_aged_partition; and the count of missed requests by appstore.apply_consumption_policies.';
COMMENT ON COLUMN appstore.maintenance_state.task IS 'A walk, such as rejected_bodies, or the name of a partition.';
COMMENT ON COLUMN appstore.maintenance_state.started_at IS 'When the walk or check began.';
COMMENT ON COLUMN appstore.maintenance_state.event_id IS
    'The last event that was checked: of a walk in ascending order, of a partition in descending order. Of notifications, the next block; of '
    'deliveries, the last attempt. Of consumption, how many requests were missed so far.';
COMMENT ON COLUMN appstore.maintenance_state.settled_at IS 'The outcome of that event, for walks in the order of the outcomes.';
COMMENT ON COLUMN appstore.maintenance_state.kept IS 'The events of the partition that must be kept.';
COMMENT ON COLUMN appstore.maintenance_state.not_before IS 'Too many events must be kept: the check begins again then.';
