-- Events that kill their worker: which batches were lost, whose fault it was, how often.

-- Crash marker: the events that one batch has in its hands. A side connection commits it before anything is done with them, the batch's own
-- transaction deletes it, and for as long as that transaction is open it holds the advisory lock `lane`. So a marker whose lane can be locked
-- belongs to a batch that ended without a commit.
--
-- It has to survive the worker, not PostgreSQL: unlogged, it costs no WAL and no flush, and is empty after a crash or a failover, in which every
-- batch is lost and no event is to blame.
DROP TABLE appstore.inbox_in_flight;
CREATE UNLOGGED TABLE appstore.inbox_in_flight (
    lane      bigint      NOT NULL PRIMARY KEY, -- random, new for each batch: no dead index entries of earlier ones are met
    event_ids bigint[]    NOT NULL,
    is_alone  boolean     NOT NULL,             -- a suspect by itself, with no other batch in its process
    marked_at timestamptz NOT NULL,
    lost_at   timestamptz,                      -- when somebody first found the lane free: a worker that lives has time to say so
    given_up  text,                             -- why the worker itself gave the batch up; it is certain then
    CONSTRAINT inbox_in_flight_has_events CHECK (cardinality(event_ids) > 0),
    CONSTRAINT inbox_in_flight_alone_is_one CHECK (NOT is_alone OR cardinality(event_ids) = 1)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);

GRANT SELECT, INSERT, UPDATE, DELETE ON appstore.inbox_in_flight TO appstore_worker;
GRANT SELECT ON appstore.inbox_in_flight TO appstore_operator, appstore_viewer;

-- How often a worker died while it had only this event in its hands; three make it `failed`. Such a death is an attempt, too.
ALTER TABLE appstore.inbox_ready
    ADD COLUMN deaths smallint NOT NULL DEFAULT 0,
    ADD CONSTRAINT inbox_ready_deaths_not_negative CHECK (deaths >= 0);

-- Suspects are few and taken one by one, the least suspicious first; others do not meet them here.
CREATE INDEX inbox_ready_suspects ON appstore.inbox_ready (deaths, run_at, event_id) WHERE is_suspect;

-- As before; what is requeued by hand has a clean slate.
CREATE OR REPLACE FUNCTION appstore.requeue(event_id bigint, note text DEFAULT NULL) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    v_waiting bigint;
BEGIN
    SELECT r.event_id INTO v_waiting FROM appstore.inbox_ready AS r WHERE r.event_id = requeue.event_id FOR UPDATE SKIP LOCKED;
    IF FOUND THEN
        UPDATE appstore.inbox_ready AS r SET run_at = clock_timestamp(), attempts = 0, is_suspect = false, deaths = 0
        WHERE r.event_id = requeue.event_id;
        INSERT INTO appstore.audit_log (at, actor, action, event_ids, note)
        VALUES (clock_timestamp(), session_user, 'requeue', ARRAY[requeue.event_id], requeue.note);
        RETURN 1;
    END IF;
    IF NOT EXISTS (SELECT FROM appstore.inbox AS i WHERE i.event_id = requeue.event_id) THEN
        RAISE EXCEPTION 'event % does not exist, or its body has been dropped', requeue.event_id USING ERRCODE = 'no_data_found';
    END IF;
    RETURN appstore.requeue_settled(ARRAY[requeue.event_id], requeue.note, NULL);
END
$$;
