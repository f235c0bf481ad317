-- plpgsql: an SQL function would not be inlined into an UPDATE and would be planned at each call.
CREATE OR REPLACE FUNCTION appstore.order_of(p_environment appstore.environment, p_period_no uuid, p_first_token uuid, p_is_purchased boolean) RETURNS uuid
LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_order uuid;
BEGIN
    IF NOT p_is_purchased THEN
        RETURN NULL;
    END IF;
    SELECT o.order_no INTO v_order FROM appstore.token_orders AS o
    WHERE o.period_no = p_period_no AND o.environment = p_environment
    ORDER BY o.order_no IS NOT DISTINCT FROM p_first_token DESC, o.order_no LIMIT 1;
    RETURN coalesce(v_order, p_period_no);
END
$$;
COMMENT ON FUNCTION appstore.order_of IS
    'The order that a transaction of a purchase points to: the one that its first token names, else one that the purchase pays, else that of the '
    'purchase itself; null where it was not bought.';
