-- Whatever ends a call, a worker, maintenance or a decision of Apple's, ends its decision in the same transaction. Settled calls age; this stays.
CREATE OR REPLACE FUNCTION appstore.settle_consumption() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET jit = off AS $$
BEGIN
    -- It was replaced, Apple has decided, or the user has withdrawn the consent: it must never be sent.
    IF OLD.state = 'discarded' THEN
        RAISE EXCEPTION 'the answer of call % was discarded: %', NEW.call_id, OLD.reason
            USING ERRCODE = 'object_not_in_prerequisite_state', HINT = 'Decide again with appstore.answer_consumption.';
    END IF;
    UPDATE appstore.consumption_decisions AS d SET result = nullif(NEW.state, 'open'), reason = NEW.reason, settled_at = NEW.settled_at
    WHERE d.call_id = NEW.call_id;
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION appstore.settle_consumption IS 'Copies the state of a call of kind consumption to its decision. It fails for a discarded call, which cannot be repeated.';

CREATE OR REPLACE TRIGGER consumption_settled AFTER UPDATE OF state ON appstore.outbox
    FOR EACH ROW WHEN (NEW.kind = 'consumption' AND NEW.state <> OLD.state) EXECUTE FUNCTION appstore.settle_consumption();
COMMENT ON TRIGGER consumption_settled ON appstore.outbox IS 'Records in consumption_decisions what became of a call.';
