-- plpgsql: an SQL function would not be inlined into an UPDATE and would be planned at each call.
CREATE OR REPLACE FUNCTION appstore.order_of(p_environment appstore.environment, p_period_no uuid, p_first_token uuid, p_is_purchased boolean) RETURNS uuid
LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_order uuid;
BEGIN
    IF NOT p_is_purchased THEN
        RETURN NULL;
    END IF;
    SELECT o.order_no INTO v_order FROM appstore.orders AS o
    WHERE o.period_no = p_period_no AND o.environment = p_environment AND o.order_no <> o.period_no
    ORDER BY o.order_no IS NOT DISTINCT FROM p_first_token DESC, o.order_no LIMIT 1;
    IF v_order IS NULL THEN
        SELECT o.order_no INTO v_order FROM appstore.orders AS o
        WHERE o.order_no = p_period_no AND o.environment = p_environment AND o.period_no = p_period_no;
    END IF;
    RETURN v_order;
END
$$;
COMMENT ON FUNCTION appstore.order_of IS
    'The order that a charge of a period points to: the one that its first token names, else the one that the period pays; null for a family '
    'member''s charge.';
