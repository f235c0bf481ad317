-- Inlined: a single expression, without a SET clause.
CREATE OR REPLACE FUNCTION appstore.owner_of(order_user text, contract_user text) RETURNS text
LANGUAGE sql IMMUTABLE AS $$
    SELECT coalesce(CASE WHEN NOT starts_with(order_user, 'forgotten:') THEN order_user END, contract_user)
$$;
COMMENT ON FUNCTION appstore.owner_of IS
    'Whose a purchase is: the user of its order, else the owner of its contract. What a forgotten user bought is the next owner''s.';
