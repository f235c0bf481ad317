CREATE OR REPLACE FUNCTION appstore.ask_apple(
    kind text, id text DEFAULT NULL, bundle_id text DEFAULT NULL, environment appstore.environment DEFAULT NULL, product_id text DEFAULT NULL,
    pagination_token text DEFAULT NULL)
RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM appstore.check_argument(
        coalesce(kind, '') NOT IN ('set_app_account_token', 'finish_transaction', 'extend_renewal_date', 'extend_for_all'),
        format('%s changes something', kind), format('Call appstore.%s.', kind));
    RETURN appstore.request_apple(kind, id, jsonb_strip_nulls(jsonb_build_object(
        'productId', product_id, 'paginationToken', pagination_token)), bundle_id, environment, appstore.actor(), NULL, NULL);
END
$$;
COMMENT ON FUNCTION appstore.ask_apple IS
    'Asks Apple, and returns the call: appstore.call_document tells its state and answer. kind is transaction_info, transaction_history, '
    'subscription_statuses, refund_history, app_transaction (id is any transactionId of the customer), order_lookup (the order number on a '
    'customer''s receipt), extend_status (a requestIdentifier, with product_id), test_notification (no id), test_status (its token), '
    'customer_groups (any transactionId of the customer), group_members (a groupId, with the pagination_token of the page before) or seat_info (the '
    'originalTransactionId of a purchaser). Without an environment, about a transaction that the ledger does not know, Production is asked first and '
    'then Sandbox; about groups and seats, Sandbox.';

CREATE OR REPLACE FUNCTION appstore.set_app_account_token(
    original_transaction_id text, token uuid, bundle_id text DEFAULT NULL, environment appstore.environment DEFAULT NULL) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN appstore.request_apple('set_app_account_token', original_transaction_id, jsonb_build_object('token', token), bundle_id, environment,
                                  appstore.actor(), NULL, NULL);
END
$$;
COMMENT ON FUNCTION appstore.set_app_account_token IS
    'Sets the appAccountToken of a purchase and of its later renewals at Apple, and returns the call. Not for what is shared or assigned.';

CREATE OR REPLACE FUNCTION appstore.finish_transaction(
    transaction_id text, bundle_id text DEFAULT NULL, environment appstore.environment DEFAULT NULL) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN appstore.request_apple('finish_transaction', transaction_id, '{}', bundle_id, environment, appstore.actor(), NULL, NULL);
END
$$;
COMMENT ON FUNCTION appstore.finish_transaction IS
    'Finishes a transaction that the customer''s app never finished, and returns the call. Irreversible: StoreKit delivers a finished consumable to '
    'no app any more.';

CREATE OR REPLACE FUNCTION appstore.extend_renewal_date(
    original_transaction_id text, days integer, reason integer, request_identifier text DEFAULT NULL, bundle_id text DEFAULT NULL,
    environment appstore.environment DEFAULT NULL) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN appstore.request_apple('extend_renewal_date', original_transaction_id, jsonb_strip_nulls(jsonb_build_object(
        'days', days, 'reason', reason, 'requestIdentifier', request_identifier)), bundle_id, environment, appstore.actor(), NULL, NULL);
END
$$;
COMMENT ON FUNCTION appstore.extend_renewal_date IS
    'Extends a subscription by 1 to 90 days, and returns the call. Apple mails the customer, allows it twice in 365 days, and cannot undo it. reason: 0 '
    'undeclared, 1 customer satisfaction, 2 other, 3 service issue or outage. An extension with the same request_identifier is made once in 30 days; '
    'without one there is one in 24 hours.';

CREATE OR REPLACE FUNCTION appstore.extend_for_all(
    product_id text, days integer, reason integer, storefronts text[] DEFAULT NULL, request_identifier text DEFAULT NULL,
    bundle_id text DEFAULT NULL, environment appstore.environment DEFAULT 'Production') RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN appstore.request_apple('extend_for_all', product_id, jsonb_strip_nulls(jsonb_build_object(
        'days', days, 'reason', reason, 'storefronts', to_jsonb(storefronts), 'requestIdentifier', request_identifier)), bundle_id, environment,
        appstore.actor(), NULL, NULL);
END
$$;
COMMENT ON FUNCTION appstore.extend_for_all IS
    'Extends all active subscriptions to a product, in some storefronts (such as USA) or in all, as extend_renewal_date does, and returns the call. '
    'appstore.ask_apple(''extend_status'', …) asks how far Apple is.';

CREATE OR REPLACE FUNCTION appstore.call_document(call_id bigint) RETURNS text
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET jit = off AS $$
#variable_conflict use_column
BEGIN
    RETURN (
        SELECT json_build_object(
            'call', c.call_id, 'kind', c.kind, 'bundleId', c.bundle_id, 'environment', c.environment, 'key', c.call_key, 'state', c.state,
            'reason', c.reason, 'waitsFor', s.waits_for, 'attempts', c.attempts, 'askedAt', appstore.instant_text(c.asked_at),
            'deadlineAt', appstore.instant_text(c.deadline_at), 'settledAt', appstore.instant_text(c.settled_at), 'answer', c.answer,
            'events', coalesce((
                SELECT json_agg(json_build_object(
                    'event', e.event_id, 'result', o.result, 'reason', o.reason, 'transactionId', o.transaction_id,
                    'originalTransactionId', o.original_transaction_id, 'product', t.product_id) ORDER BY e.position)
                FROM unnest(c.answer_event_ids) WITH ORDINALITY AS e (event_id, position)
                LEFT JOIN LATERAL (
                    SELECT o.* FROM appstore.outcomes AS o WHERE o.event_id = e.event_id OFFSET 0) AS o ON true
                LEFT JOIN LATERAL (
                    SELECT t.product_id FROM appstore.transactions AS t
                    WHERE t.transaction_id = o.transaction_id AND t.environment::text = o.environment OFFSET 0) AS t ON true), '[]'))::text
        FROM appstore.outbox AS c JOIN appstore.outbox_status AS s ON s.call_id = c.call_id
        WHERE c.call_id = call_document.call_id);
END
$$;
COMMENT ON FUNCTION appstore.call_document IS
    'The state of a call as JSON, with the members of the HTTP API: its answer, and the events that the answer became with their outcomes, null while '
    'they wait. Null when there is no such call; settled calls are kept for 30 days.';
