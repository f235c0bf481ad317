-- What the shop's backend and its operators call and look at.

-- Makes an order and returns its number, which the client passes to StoreKit as appAccountToken. Calling it again with the same number
-- and the same words changes nothing; with others it is refused. The purchase may have arrived before the order.
CREATE FUNCTION appstore.create_order(user_id text, product_id text, no uuid DEFAULT gen_random_uuid(), bundle_id text DEFAULT NULL)
RETURNS uuid
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    v_no     uuid := coalesce(create_order.no, gen_random_uuid());
    v_made   appstore.orders;
BEGIN
    IF user_id IS NULL OR octet_length(user_id) NOT BETWEEN 1 AND 255 THEN
        RAISE EXCEPTION 'user_id must have 1 to 255 bytes' USING ERRCODE = 'invalid_parameter_value';
    ELSIF product_id IS NULL OR octet_length(product_id) NOT BETWEEN 1 AND 255 THEN
        RAISE EXCEPTION 'product_id must have 1 to 255 bytes' USING ERRCODE = 'invalid_parameter_value';
    END IF;

    -- See derive_books: a Sandbox twin that is being inserted now must see this order, or be seen.
    PERFORM pg_advisory_xact_lock(hashtextextended(v_no::text, 0));
    INSERT INTO appstore.orders AS o (environment, no, user_id, product_id, bundle_id, ordered_at)
    VALUES ('Production', v_no, create_order.user_id, create_order.product_id, create_order.bundle_id, clock_timestamp())
    ON CONFLICT (environment, no) DO UPDATE
    SET user_id = excluded.user_id, product_id = excluded.product_id, bundle_id = excluded.bundle_id, ordered_at = excluded.ordered_at
    WHERE o.ordered_at IS NULL;

    SELECT * INTO v_made FROM appstore.orders AS o WHERE o.environment = 'Production' AND o.no = v_no;
    IF (v_made.user_id, v_made.product_id, v_made.bundle_id)
       IS DISTINCT FROM (create_order.user_id, create_order.product_id, create_order.bundle_id) THEN
        RAISE EXCEPTION 'order % was made for another user, product or bundle', v_no USING ERRCODE = 'unique_violation';
    END IF;
    PERFORM appstore.derive_books('Production', '{}', '{}', ARRAY[v_no]);

    UPDATE appstore.orders AS twin
    SET user_id = v_made.user_id, product_id = v_made.product_id, bundle_id = v_made.bundle_id, ordered_at = v_made.ordered_at
    WHERE twin.environment = 'Sandbox' AND twin.no = v_no;
    IF FOUND THEN
        PERFORM appstore.derive_books('Sandbox', '{}', '{}', ARRAY[v_no]);
    END IF;
    RETURN v_no;
END
$$;

-- Every event and what became of it. A UNION ALL, so that it stays fast with ten million settled events.
CREATE VIEW appstore.inbox_status AS
SELECT r.event_id, i.source, i.received_at,
       CASE WHEN r.attempts = 0 THEN 'ready' ELSE 'waiting' END AS state,
       NULL::text AS outcome, NULL::text AS reason, NULL::text AS notification_type, NULL::text AS subtype, NULL::text AS notification_uuid,
       NULL::text AS environment, NULL::text AS transaction_id, NULL::text AS original_transaction_id,
       r.attempts::integer AS attempts, r.run_at AS next_run_at, r.last_error, NULL::timestamptz AS settled_at
FROM appstore.inbox_ready AS r
JOIN appstore.inbox AS i ON i.event_id = r.event_id
UNION ALL
SELECT o.event_id, o.source, o.received_at, 'settled', o.result, o.reason, o.notification_type, o.subtype, o.notification_uuid,
       o.environment, o.transaction_id, o.original_transaction_id, o.attempts, NULL, o.last_error, o.settled_at
FROM appstore.outcomes AS o;

-- The dead letters.
CREATE VIEW appstore.failed AS
SELECT o.event_id, o.source, o.received_at, o.settled_at, o.reason, o.last_error, o.attempts, o.run,
       o.notification_type, o.subtype, o.notification_uuid, o.environment, o.bundle_id, o.transaction_id, o.original_transaction_id
FROM appstore.outcomes AS o
WHERE o.result = 'failed';

-- What Apple was paid for and nobody's account shows, and what would resolve it.
CREATE VIEW appstore.unmatched AS
SELECT o.environment, o.no, o.reason, t.transaction_id, t.original_transaction_id, t.product_id, t.purchase_date,
       'The order is for ' || o.product_id || coalesce(' of ' || o.bundle_id, '') || ': make a new order, or refund.' AS resolution
FROM appstore.orders AS o
JOIN appstore.transactions AS t ON t.environment = o.environment AND t.first_token = o.no AND t.is_purchased
WHERE o.reason IS NOT NULL
UNION ALL
SELECT o.environment, o.no, 'no_user', o.trade_no, o.origin_no, o.paid_product_id, o.paid_at,
       CASE WHEN o.no = o.period_no THEN 'No order is known for this contract: it resolves when one is.'
            ELSE 'Call create_order with this number.' END
FROM appstore.orders AS o
WHERE o.status <> 'pending' AND o.user_id IS NULL;

-- What happened to a contract (both times: when it happened, when we learned of it), from its effects and the outcomes of its events.
CREATE FUNCTION appstore.timeline(environment text, original_transaction_id text)
RETURNS TABLE (occurred_at timestamptz, learned_at timestamptz, event_id bigint, what text, transaction_id text, product_id text,
               order_no uuid, user_id text)
LANGUAGE sql STABLE AS $$
    SELECT e.occurred_at, o.received_at, e.event_id, e.kind, e.transaction_id, e.product_id, e.order_no, e.user_id
    FROM appstore.effects AS e
    LEFT JOIN appstore.outcomes AS o ON o.event_id = e.event_id
    WHERE e.environment = timeline.environment AND e.original_transaction_id = timeline.original_transaction_id
    ORDER BY e.occurred_at, e.effect_id
$$;

-- Puts settled events back into the queue, their outcomes into the history, and says so in the audit log. Not for callers.
CREATE FUNCTION appstore.requeue_settled(event_ids bigint[], note text, filter jsonb) RETURNS bigint
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    v_moved bigint[];
BEGIN
    WITH locked AS ( -- in key order, as every writer
        SELECT o.event_id FROM appstore.outcomes AS o WHERE o.event_id = ANY (event_ids) ORDER BY o.event_id FOR UPDATE
    ), taken AS (
        DELETE FROM appstore.outcomes AS o USING locked WHERE o.event_id = locked.event_id RETURNING o.*
    ), kept AS (
        INSERT INTO appstore.outcome_history SELECT taken.*, clock_timestamp(), session_user FROM taken
    ), put_back AS (
        INSERT INTO appstore.inbox_ready (event_id, run_at, bytes)
        SELECT i.event_id, clock_timestamp(), octet_length(i.body)
        FROM appstore.inbox AS i JOIN taken ON taken.event_id = i.event_id
        RETURNING inbox_ready.event_id
    )
    SELECT coalesce(array_agg(put_back.event_id ORDER BY put_back.event_id), '{}') INTO v_moved FROM put_back;
    IF cardinality(v_moved) > 0 THEN
        INSERT INTO appstore.audit_log (at, actor, action, event_ids, note, filter)
        VALUES (clock_timestamp(), session_user, 'requeue', v_moved, requeue_settled.note, requeue_settled.filter);
    END IF;
    RETURN cardinality(v_moved);
END
$$;

-- Runs one event again, whatever became of it; one that waits for its next attempt becomes due now. Returns the number of events
-- requeued: 1, or 0 when a worker has it in its hands at this moment.
CREATE FUNCTION appstore.requeue(event_id bigint, note text DEFAULT NULL) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    v_waiting bigint;
BEGIN
    SELECT r.event_id INTO v_waiting FROM appstore.inbox_ready AS r WHERE r.event_id = requeue.event_id FOR UPDATE SKIP LOCKED;
    IF FOUND THEN
        UPDATE appstore.inbox_ready AS r SET run_at = clock_timestamp(), attempts = 0, is_suspect = false
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

-- Runs the events again that every given condition fits, oldest first, at most max_events in one call. dry_run only counts them.
CREATE FUNCTION appstore.requeue(
    outcome text DEFAULT NULL, reason text DEFAULT NULL, notification_type text DEFAULT NULL, subtype text DEFAULT NULL,
    environment text DEFAULT NULL, bundle_id text DEFAULT NULL,
    received_from timestamptz DEFAULT NULL, received_before timestamptz DEFAULT NULL,
    max_events integer DEFAULT 1000, dry_run boolean DEFAULT false, note text DEFAULT NULL)
RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    v_events bigint[];
    v_filter jsonb := jsonb_strip_nulls(jsonb_build_object(
        'outcome', outcome, 'reason', reason, 'notification_type', notification_type, 'subtype', subtype, 'environment', environment,
        'bundle_id', bundle_id, 'received_from', received_from, 'received_before', received_before));
BEGIN
    IF v_filter = '{}' THEN
        RAISE EXCEPTION 'name at least one condition: outcome, reason, notification_type, subtype, environment, bundle_id, received_from, received_before'
            USING ERRCODE = 'invalid_parameter_value';
    ELSIF outcome IS NOT NULL AND outcome NOT IN ('applied', 'superseded', 'no_effect', 'duplicate', 'unhandled', 'rejected', 'failed',
                                                  'discarded') THEN
        RAISE EXCEPTION 'outcome % is none of applied, superseded, no_effect, duplicate, unhandled, rejected, failed, discarded',
            quote_literal(outcome) USING ERRCODE = 'invalid_parameter_value';
    ELSIF max_events IS NULL OR max_events NOT BETWEEN 1 AND 1000 THEN
        RAISE EXCEPTION 'max_events must be 1 to 1000: a larger repair is made in several calls' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    SELECT coalesce(array_agg(found.event_id), '{}') INTO v_events
    FROM (
        SELECT o.event_id FROM appstore.outcomes AS o
        WHERE (requeue.outcome IS NULL OR o.result = requeue.outcome)
          AND (requeue.reason IS NULL OR o.reason = requeue.reason)
          AND (requeue.notification_type IS NULL OR o.notification_type = requeue.notification_type)
          AND (requeue.subtype IS NULL OR o.subtype = requeue.subtype)
          AND (requeue.environment IS NULL OR o.environment = requeue.environment)
          AND (requeue.bundle_id IS NULL OR o.bundle_id = requeue.bundle_id)
          AND (requeue.received_from IS NULL OR o.received_at >= requeue.received_from)
          AND (requeue.received_before IS NULL OR o.received_at < requeue.received_before)
        ORDER BY o.event_id
        LIMIT requeue.max_events
    ) AS found;
    IF dry_run THEN
        RETURN cardinality(v_events);
    END IF;
    RETURN appstore.requeue_settled(v_events, requeue.note, v_filter);
END
$$;

-- Ends an event that shall not run (again). What has been applied cannot be undone by it, and is refused.
CREATE FUNCTION appstore.discard(event_id bigint, reason text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    v_attempts integer;
    v_error    text;
    v_settled  appstore.outcomes;
    v_run      integer;
BEGIN
    IF reason IS NULL OR btrim(reason) = '' THEN
        RAISE EXCEPTION 'say why event % is discarded', event_id USING ERRCODE = 'invalid_parameter_value';
    END IF;
    -- Waits for a worker that has it in its hands.
    DELETE FROM appstore.inbox_ready AS r WHERE r.event_id = discard.event_id RETURNING r.attempts, r.last_error INTO v_attempts, v_error;
    IF NOT FOUND THEN
        DELETE FROM appstore.outcomes AS o
        WHERE o.event_id = discard.event_id AND o.result IN ('failed', 'rejected', 'unhandled') RETURNING o.* INTO v_settled;
        IF NOT FOUND THEN
            RAISE EXCEPTION 'event % is neither waiting nor failed, rejected or unhandled', event_id USING ERRCODE = 'no_data_found';
        END IF;
        v_attempts := v_settled.attempts;
        v_error := v_settled.last_error;
        INSERT INTO appstore.outcome_history SELECT v_settled.*, clock_timestamp(), session_user;
    END IF;
    SELECT coalesce(max(h.run), 0) + 1 INTO v_run FROM appstore.outcome_history AS h WHERE h.event_id = discard.event_id;
    INSERT INTO appstore.outcomes (event_id, source, received_at, settled_at, run, attempts, result, reason, last_error,
                                   notification_type, subtype, notification_uuid, environment, bundle_id, transaction_id,
                                   original_transaction_id)
    SELECT i.event_id, i.source, i.received_at, clock_timestamp(), v_run, v_attempts, 'discarded', discard.reason, v_error,
           v_settled.notification_type, v_settled.subtype, v_settled.notification_uuid, v_settled.environment, v_settled.bundle_id,
           v_settled.transaction_id, v_settled.original_transaction_id
    FROM appstore.inbox AS i WHERE i.event_id = discard.event_id;
    INSERT INTO appstore.audit_log (at, actor, action, event_ids, note)
    VALUES (clock_timestamp(), session_user, 'discard', ARRAY[discard.event_id], discard.reason);
END
$$;

-- PostgreSQL lets everybody execute a new function: take that back, then give each role its own.
REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA appstore FROM PUBLIC;
ALTER DEFAULT PRIVILEGES FOR ROLE appstore_owner IN SCHEMA appstore REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC;
ALTER DEFAULT PRIVILEGES FOR ROLE appstore_owner REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC;
GRANT EXECUTE ON FUNCTION appstore.create_order(text, text, uuid, text) TO appstore_backend;
GRANT EXECUTE ON FUNCTION appstore.requeue(bigint, text),
    appstore.requeue(text, text, text, text, text, text, timestamptz, timestamptz, integer, boolean, text),
    appstore.discard(bigint, text) TO appstore_operator;
GRANT EXECUTE ON FUNCTION appstore.timeline(text, text) TO appstore_operator, appstore_viewer;
GRANT EXECUTE ON FUNCTION appstore.derive_books(text, text[], text[], uuid[]), appstore.transaction_number(text),
    appstore.payers(text, uuid[]), appstore.paid_periods(text, uuid[]), appstore.period_user(text, text, timestamptz),
    appstore.access_until(appstore.transactions, appstore.subscriptions) TO appstore_worker;
GRANT SELECT ON appstore.inbox_status, appstore.failed, appstore.unmatched TO appstore_operator, appstore_viewer, appstore_worker;
