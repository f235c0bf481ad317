-- A batch that ended without a commit has left its crash marker, and its advisory lock is free. Its worker died, or it lives, has lost its
-- connection and removes the marker; so a marker is judged only when its grace period is over.
CREATE OR REPLACE FUNCTION appstore.recover_lost_batches(p_lanes bigint[], p_grace interval, p_isolated_grace interval, p_maximum_deaths integer,
                                              OUT lost integer, OUT isolated integer, OUT deaths integer, OUT failed bigint[])
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    v_now timestamptz := clock_timestamp();
    v_lane bigint;
    v_marker appstore.batch_markers;
    v_event appstore.inbox_queue;
    v_count integer;
BEGIN
    lost := 0;
    isolated := 0;
    deaths := 0;
    failed := ARRAY[]::bigint[];
    DELETE FROM appstore.batch_markers AS m WHERE m.lane = ANY (p_lanes);
    FOR v_lane IN
        SELECT m.lane
        FROM (SELECT m.lane FROM appstore.batch_markers AS m
              WHERE m.lost_at IS NULL OR v_now - m.lost_at >= CASE WHEN m.is_alone THEN p_isolated_grace ELSE p_grace END
              ORDER BY m.marked_at, m.lane
              OFFSET 0) AS m -- the locks are tried in this order
        WHERE pg_try_advisory_xact_lock(m.lane)
    LOOP
        -- A batch that commits frees its lock after its marker is gone, which only a later statement sees.
        SELECT m.* INTO v_marker FROM appstore.batch_markers AS m WHERE m.lane = v_lane FOR UPDATE SKIP LOCKED;
        CONTINUE WHEN NOT FOUND;
        IF v_marker.server_start <> pg_postmaster_start_time() THEN
            -- The batch ended with the server: no event is the cause.
            DELETE FROM appstore.batch_markers AS m WHERE m.lane = v_lane;
            CONTINUE;
        END IF;
        IF coalesce(v_now - v_marker.lost_at, interval '0') < (CASE WHEN v_marker.is_alone THEN p_isolated_grace ELSE p_grace END) THEN
            -- Not lost yet: its worker may be about to begin it, or to report that it failed.
            UPDATE appstore.batch_markers AS m SET lost_at = v_now WHERE m.lane = v_lane;
            CONTINUE;
        END IF;
        IF v_marker.is_alone THEN
            SELECT q.* INTO v_event FROM appstore.inbox_queue AS q WHERE q.event_id = v_marker.event_ids[1] FOR UPDATE SKIP LOCKED;
            IF FOUND THEN
                deaths := deaths + 1;
                IF appstore.record_death(v_event, p_maximum_deaths) THEN
                    failed := failed || v_event.event_id;
                END IF;
            ELSIF EXISTS (SELECT FROM appstore.inbox_queue AS q WHERE q.event_id = v_marker.event_ids[1]) THEN
                CONTINUE; -- another transaction holds it: judged later
            END IF;
        ELSE
            -- What another batch holds by now has that batch's marker. No writer of the queue names a time in the past: the low-water mark
            -- relies on it.
            WITH held AS MATERIALIZED (
                SELECT q.event_id FROM appstore.inbox_queue AS q WHERE q.event_id = ANY (v_marker.event_ids)
                ORDER BY q.event_id FOR UPDATE SKIP LOCKED
            )
            UPDATE appstore.inbox_queue AS q SET is_isolated = true, run_at = greatest(q.run_at, clock_timestamp())
            WHERE q.event_id IN (SELECT held.event_id FROM held);
            GET DIAGNOSTICS v_count = ROW_COUNT;
            isolated := isolated + v_count;
        END IF;
        lost := lost + 1;
        -- Two workers may have reserved one isolated event at the same time: it died once.
        DELETE FROM appstore.batch_markers AS m
        WHERE m.lane = v_lane OR v_marker.is_alone AND m.is_alone AND m.event_ids = v_marker.event_ids;
    END LOOP;
END
$$;
COMMENT ON FUNCTION appstore.recover_lost_batches IS
    'Judges batches that ended without a commit: their events must run by themselves from now on; an event that ran by itself is counted a death, '
    'and is failed after its last one. Returns how many batches were found lost, how many events were isolated and '
    'counted a death, and which events are failed.';

-- Counts a death of the worker against an event that ran by itself. The event waits, twice as long after each death, and fails with the last
-- one. A death is no attempt: another event may have been the cause.
CREATE OR REPLACE FUNCTION appstore.record_death(p_event appstore.inbox_queue, p_maximum_deaths integer)
RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    v_error text := format('killed_worker: the worker died %s times while it ran this event by itself', p_event.deaths + 1);
BEGIN
    IF p_event.deaths + 1 >= p_maximum_deaths THEN
        PERFORM appstore.settle(
            ARRAY[]::bigint[], ARRAY[i.event_id], ARRAY[i.source], ARRAY[i.received_at], ARRAY[p_event.run],
            ARRAY[p_event.attempts + p_event.deaths + 1],
            ARRAY['failed']::appstore.result[], ARRAY['killed_worker'], ARRAY[v_error], ARRAY[NULL]::text[], ARRAY[NULL]::text[],
            ARRAY[NULL]::uuid[], ARRAY[NULL]::text[], ARRAY[NULL]::text[], ARRAY[NULL]::text[], ARRAY[NULL]::text[])
        FROM appstore.inbox AS i WHERE i.event_id = p_event.event_id;
        RETURN true;
    END IF;
    UPDATE appstore.inbox_queue AS q
    SET deaths = q.deaths + 1, is_isolated = true, last_error = v_error,
        run_at = clock_timestamp() + interval '5 seconds' * (2 ^ p_event.deaths * (0.5 + random() / 2))
    WHERE q.event_id = p_event.event_id;
    RETURN false;
END
$$;
COMMENT ON FUNCTION appstore.record_death IS
    'Counts a death of the worker against an isolated event. Returns whether it was the last one, so that the event is failed.';
