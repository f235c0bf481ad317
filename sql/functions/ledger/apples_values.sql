-- What the values mean that Apple gives a transaction. Apple adds values without notice: one that is not known here is no money.
-- Inlined, all: without a SET clause, and not strict.

CREATE OR REPLACE FUNCTION appstore.is_purchase(p_in_app_ownership_type text) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
    SELECT coalesce(p_in_app_ownership_type, 'PURCHASED') = 'PURCHASED'
$$;
COMMENT ON FUNCTION appstore.is_purchase IS
    'Whether the customer paid for a transaction. Apple also has FAMILY_SHARED, and ASSIGNED for a seat of a group. Without a value it was bought: '
    'receipts have none.';

CREATE OR REPLACE FUNCTION appstore.is_refund(p_revocation_type text) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
    SELECT coalesce(p_revocation_type, 'REFUND_FULL') IN ('REFUND_FULL', 'REFUND_PRORATED')
$$;
COMMENT ON FUNCTION appstore.is_refund IS
    'Whether the revocation of what was bought gave money back. Apple also has FAMILY_REVOKE, and ASSIGNMENT_REVOKE for a seat of a group. Without a '
    'value it is a refund: receipts and older statements have none.';

CREATE OR REPLACE FUNCTION appstore.is_subscription(p_product_type text, p_otherwise boolean) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN p_product_type = 'Auto-Renewable Subscription' THEN true
                WHEN p_product_type IN ('Non-Consumable', 'Consumable', 'Non-Renewing Subscription') THEN false
                ELSE p_otherwise END
$$;
COMMENT ON FUNCTION appstore.is_subscription IS
    'Whether a transaction is a period of an auto-renewable subscription: its type says so or, where it has none or one that is not known here, its '
    'other members (p_otherwise): a web order line item, or an end and a subscription group.';
