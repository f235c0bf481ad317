-- One hash over the books, so that two databases can be compared.

-- A chain of SHA-256 over rows in their order, in constant memory: each link is the hash of the one before and of one row, so that rows
-- cannot run into each other.
CREATE FUNCTION appstore.chain_link(digest bytea, line text) RETURNS bytea
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
BEGIN
    RETURN sha256(digest || convert_to(line, 'UTF8'));
END
$$;
CREATE AGGREGATE appstore.chained_digest(text) (SFUNC = appstore.chain_link, STYPE = bytea, INITCOND = '');

-- The parts of state_digest, to find where two databases differ.
--
-- A row is written as PostgreSQL writes a record: null is nothing, an empty text is "", and instants are UTC in microseconds whatever the
-- session's settings. Left out is what says how the books came to be, and not what they are: surrogate ids, times of arrival and of
-- commit, and what effects saw when they were recorded.
CREATE FUNCTION appstore.state_digest_parts(environment text) RETURNS TABLE (part text, rows bigint, digest text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' SET datestyle = 'ISO, YMD' SET bytea_output = 'hex' AS $$
#variable_conflict use_column
BEGIN
    IF environment IS NULL OR environment NOT IN ('Production', 'Sandbox') THEN
        RAISE EXCEPTION 'environment % is neither Production nor Sandbox', quote_nullable(environment)
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    RETURN QUERY
    SELECT 'transactions', count(*), encode(appstore.chained_digest(sorted.line), 'hex')
    FROM (
        SELECT ROW(t.transaction_id, t.original_transaction_id, t.web_order_line_item_id, t.bundle_id, t.product_id, t.product_type,
                   t.subscription_group_identifier, t.purchase_date, t.original_purchase_date, t.expires_date, t.quantity,
                   t.app_account_token, t.in_app_ownership_type, t.revocation_date, t.revocation_reason, t.revocation_type,
                   t.revocation_percentage, t.is_upgraded, t.offer_type, t.offer_identifier, t.offer_discount_type, t.offer_period,
                   t.storefront, t.storefront_id, t.transaction_reason, t.currency, t.price, t.app_transaction_id, t.billing_plan_type,
                   t.signed_date, t.payload_hash, t.first_signed_date, t.first_token, t.first_token_signed_date, t.first_token_hash,
                   t.period_no, t.is_subscription, t.order_no)::text AS line
        FROM appstore.transactions AS t WHERE t.environment = state_digest_parts.environment
        ORDER BY t.transaction_id COLLATE "C") AS sorted;
    RETURN QUERY
    SELECT 'subscriptions', count(*), encode(appstore.chained_digest(sorted.line), 'hex')
    FROM (
        SELECT ROW(s.original_transaction_id, s.status, s.product_id, s.auto_renew_product_id, s.auto_renew_status, s.expiration_intent,
                   s.is_in_billing_retry_period, s.price_increase_status, s.grace_period_expires_date, s.renewal_date, s.renewal_price,
                   s.currency, s.offer_type, s.offer_identifier, s.offer_discount_type, s.offer_period, s.eligible_win_back_offer_ids,
                   s.recent_subscription_start_date, s.app_account_token, s.app_transaction_id, s.renewal_billing_plan_type,
                   s.signed_date, s.fact_hash)::text AS line
        FROM appstore.subscriptions AS s WHERE s.environment = state_digest_parts.environment
        ORDER BY s.original_transaction_id COLLATE "C") AS sorted;
    RETURN QUERY
    SELECT 'refund_statements', count(*), encode(appstore.chained_digest(sorted.line), 'hex')
    FROM (
        SELECT ROW(r.notification_uuid, r.kind, r.transaction_id, r.original_transaction_id, r.reason, r.signed_date)::text AS line
        FROM appstore.refund_statements AS r WHERE r.environment = state_digest_parts.environment
        ORDER BY r.notification_uuid COLLATE "C") AS sorted;
    RETURN QUERY
    SELECT 'orders', count(*), encode(appstore.chained_digest(sorted.line), 'hex')
    FROM (
        SELECT ROW(o.no, o.user_id, o.product_id, o.bundle_id, o.status, o.reason, o.period_no, o.trade_no, o.origin_no,
                   o.web_order_line_item_id, o.paid_product_id, o.paid_at, o.quantity, o.price, o.currency)::text AS line
        FROM appstore.orders AS o WHERE o.environment = state_digest_parts.environment
        ORDER BY o.no) AS sorted;
    RETURN QUERY
    SELECT 'claims', count(*), encode(appstore.chained_digest(sorted.line), 'hex')
    FROM (
        SELECT ROW(c.evidence, c.original_transaction_id, c.user_id, c.effective_at)::text AS line
        FROM appstore.claims AS c WHERE c.environment = state_digest_parts.environment
        ORDER BY c.original_transaction_id COLLATE "C", c.evidence COLLATE "C") AS sorted;
    RETURN QUERY
    SELECT 'member_contracts', count(*), encode(appstore.chained_digest(sorted.line), 'hex')
    FROM (
        SELECT ROW(m.contract_id, m.user_id, m.bundle_id, m.product_id, m.product_type, m.status, m.will_renew, m.started_at,
                   m.current_transaction_id, m.current_period_start, m.current_period_end, m.revoked_at, m.access_until)::text AS line
        FROM appstore.member_contracts AS m WHERE m.environment = state_digest_parts.environment
        ORDER BY m.contract_id COLLATE "C") AS sorted;
    RETURN QUERY
    SELECT 'effects', count(*), encode(appstore.chained_digest(sorted.line), 'hex')
    FROM (
        SELECT ROW(e.kind, e.effect_key)::text AS line
        FROM appstore.effects AS e WHERE e.environment = state_digest_parts.environment
        ORDER BY e.kind COLLATE "C", e.effect_key COLLATE "C") AS sorted;
END
$$;

-- One SHA-256 (hex) over the books of an environment, to compare two databases: registers, orders, claims, contracts and the keys of
-- effects. It sees one snapshot and needs constant memory, but reads and sorts everything: lift the role's time-out before asking a large
-- database (SET statement_timeout = 0), and have room for temporary files of about the size of the tables.
CREATE FUNCTION appstore.state_digest(environment text) RETURNS text
LANGUAGE sql STABLE AS $$
    SELECT encode(sha256(convert_to(string_agg(p.part || ' ' || p.rows || ' ' || p.digest, E'\n' ORDER BY p.part COLLATE "C"), 'UTF8')),
                  'hex')
    FROM appstore.state_digest_parts(state_digest.environment) AS p
$$;

REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA appstore FROM PUBLIC;
GRANT EXECUTE ON FUNCTION appstore.state_digest(text), appstore.state_digest_parts(text), appstore.chain_link(bytea, text),
    appstore.chained_digest(text) TO appstore_operator, appstore_viewer;
