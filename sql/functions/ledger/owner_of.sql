-- Whose a purchase is. PostgreSQL inlines both: without a SET clause, and not strict.

CREATE OR REPLACE FUNCTION appstore.is_forgotten(p_user text) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
    SELECT starts_with(p_user, 'forgotten:')
$$;
COMMENT ON FUNCTION appstore.is_forgotten IS 'Whether it is the alias of a user who was forgotten; null without a user.';

CREATE OR REPLACE FUNCTION appstore.owner_of(p_order_user text, p_contract_user text) RETURNS text
LANGUAGE sql IMMUTABLE AS $$
    SELECT coalesce(CASE WHEN NOT appstore.is_forgotten(p_order_user) THEN p_order_user END, p_contract_user, p_order_user)
$$;
COMMENT ON FUNCTION appstore.owner_of IS
    'The owner of a purchase, by the user of its order and the owner of its contract: the user of the order, else the owner of the contract. What a '
    'user bought who was forgotten is the next owner''s.';
