CREATE OR REPLACE FUNCTION appstore.count_repair(action text, filter appstore.repair_filter, at_most integer DEFAULT NULL)
RETURNS TABLE (result appstore.result, events bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
    PERFORM appstore.check_repair(action, filter, '-');
    RETURN QUERY
    SELECT o.result, count(*)
    FROM appstore.find_outcomes(action, filter, at_most) AS f (event_id)
    JOIN appstore.outcomes AS o ON o.event_id = f.event_id
    GROUP BY o.result ORDER BY o.result;
    IF NOT FOUND THEN
        PERFORM appstore.suggest_reasons(filter);
    END IF;
END
$$;
COMMENT ON FUNCTION appstore.count_repair IS
    'How many outcomes of each result a repair (requeue or discard) would take now; it stops at at_most, if given. Of none: a notice suggests '
    'reasons that occur.';
