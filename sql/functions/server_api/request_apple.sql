-- What operators and backends ask the App Store Server API, as calls of the outbox.

CREATE OR REPLACE FUNCTION appstore.place_of_call(
    transaction_id text, key appstore.api_keys, INOUT bundle_id text, INOUT environment appstore.environment)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET jit = off AS $$
#variable_conflict use_column
DECLARE
    v_sold  record;
    v_known text[];
    v_more  text;
BEGIN
    -- 1. What the ledger knows of the transaction, or of the contract, whose first transaction it may not have. Of another app's it tells a
    --    key nothing.
    SELECT min(sold.bundle_id) AS bundle_id, min(sold.environment) AS environment INTO v_sold
    FROM (SELECT t.bundle_id, t.environment FROM appstore.transactions AS t WHERE t.transaction_id = place_of_call.transaction_id
          UNION
          SELECT m.bundle_id, m.environment FROM appstore.contracts AS m
          WHERE m.original_transaction_id = place_of_call.transaction_id AND m.bundle_id IS NOT NULL) AS sold
    WHERE sold.environment = coalesce(place_of_call.environment, sold.environment)
      AND ((key).bundle_ids IS NULL OR sold.bundle_id = ANY ((key).bundle_ids))
    HAVING count(*) = 1;
    bundle_id := coalesce(bundle_id, v_sold.bundle_id);
    environment := coalesce(environment, v_sold.environment);
    -- 2. The only app of the key, or the only one about which workers ask.
    v_known := ARRAY(SELECT DISTINCT c.bundle_id FROM appstore.history_cursors AS c ORDER BY c.bundle_id);
    bundle_id := coalesce(bundle_id, CASE WHEN cardinality((key).bundle_ids) = 1 THEN (key).bundle_ids[1] END,
                          CASE WHEN cardinality(v_known) = 1 THEN v_known[1] END);
    -- A key of the HTTP API does not learn of other apps.
    v_more := CASE WHEN (key).key_id IS NOT NULL THEN '' WHEN v_known = '{}' THEN ': no worker has had a key for the App Store Server API yet'
                   ELSE ': workers have keys of ' || array_to_string(v_known, ', ') END;
    PERFORM appstore.check_argument(bundle_id IS NOT NULL, 'the app must be named' || v_more, 'Give its bundle id.');
    IF cardinality((key).environments) = 1 THEN
        environment := coalesce(environment, (key).environments[1]);
    END IF;
    environment := coalesce(environment, (SELECT min(c.environment) FROM appstore.history_cursors AS c
                                          WHERE c.bundle_id = place_of_call.bundle_id HAVING min(c.environment) = max(c.environment)));
    -- 3. A call that no worker can make would only wait. Before the first worker with a key that cannot be told.
    PERFORM appstore.check_argument(
        v_known = '{}' OR EXISTS (
            SELECT FROM appstore.history_cursors AS c
            WHERE c.bundle_id = place_of_call.bundle_id
              AND c.environment = coalesce(place_of_call.environment, c.environment)),
        'no worker has had a key of this app in this environment' || v_more, 'Correct the name, or start a worker with a key of the app.');
END
$$;
COMMENT ON FUNCTION appstore.place_of_call IS
    'The app and environment to ask about: those given, else those of the transaction or contract, else the only app that there is and the only '
    'environment of its keys; a null environment is any. Fails '
    'with invalid_parameter_value where no app can be told, or no worker has had its key.';

CREATE OR REPLACE FUNCTION appstore.request_apple(
    kind text, id text, details jsonb, bundle_id text, environment appstore.environment, actor text, key appstore.api_keys, verbs text[])
RETURNS bigint
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET jit = off AS $$
#variable_conflict use_column
DECLARE
    c_request    CONSTANT text := '^[A-Za-z0-9._:-]{1,128}$';
    v_bundle     text;
    v_place      appstore.environment;
    v_is_change  boolean := kind IN ('set_app_account_token', 'finish_transaction', 'extend_renewal_date', 'extend_for_all');
    v_is_extension boolean := kind IN ('extend_renewal_date', 'extend_for_all');
    v_of_one     boolean := kind IN ('transaction_info', 'transaction_history', 'subscription_statuses', 'refund_history', 'app_transaction',
                                     'set_app_account_token', 'finish_transaction', 'extend_renewal_date', 'customer_groups', 'seat_info');
    v_of_group   boolean := kind IN ('customer_groups', 'group_members', 'seat_info');
    v_key        text := id;
    v_path       text[] := ARRAY[id];
    v_query      jsonb;
    v_body       jsonb;
    v_payload    bytea;
    v_call       record;
    v_original   text;
    v_day        text;
BEGIN
    -- 1. The arguments. The messages, unlike the hints, show none of them: the HTTP API returns them.
    PERFORM appstore.check_argument(
        v_is_change OR v_of_group
        OR kind IN ('transaction_info', 'transaction_history', 'subscription_statuses', 'refund_history', 'app_transaction', 'order_lookup',
                    'extend_status', 'test_notification', 'test_status'),
        format('there is no question %s', quote_nullable(kind)),
        'Questions are transaction_info, transaction_history, subscription_statuses, refund_history, app_transaction, order_lookup, '
        'extend_status, test_notification, test_status, customer_groups, group_members and seat_info.');
    IF kind = 'test_notification' THEN
        PERFORM appstore.check_argument(id IS NULL, 'a test notification has no id', 'Leave it out.'),
                appstore.check_environment(environment);
    ELSE
        PERFORM appstore.check_argument(
            id ~ CASE WHEN v_of_one THEN '^[0-9]{1,20}$' WHEN kind = 'order_lookup' THEN '^[A-Za-z0-9]{1,64}$'
                      WHEN kind = 'test_status' THEN '^[A-Za-z0-9_.-]{1,200}$' WHEN kind = 'extend_status' THEN c_request
                      ELSE '^[A-Za-z0-9._-]{1,100}$' END,
            'id must be ' || CASE WHEN v_of_one THEN 'a transactionId, which has up to 20 digits'
                                  WHEN kind = 'order_lookup' THEN 'the order number of a receipt, letters and digits such as MK5TTTVWJH'
                                  WHEN kind = 'test_status' THEN 'a testNotificationToken'
                                  WHEN kind = 'extend_status' THEN 'a requestIdentifier'
                                  WHEN kind = 'group_members' THEN 'a groupId, which an answer to customer_groups names' ELSE 'a productId' END,
            format('It is %s.', quote_nullable(left(id, 100))));
    END IF;
    PERFORM appstore.check_argument(kind <> 'order_lookup' OR environment IS DISTINCT FROM 'Sandbox', 'Apple knows no order numbers in Sandbox',
                                    'Ask about a transactionId.');
    PERFORM appstore.check_argument(details ->> 'paginationToken' IS NULL OR kind = 'group_members', format('%s has no pages to ask for', kind),
                                    'Leave out pagination_token.'),
            -- Percent-encoded it has up to three times as many bytes, and goes into a URL.
            appstore.check_argument(details ->> 'paginationToken' IS NULL
                                    OR (octet_length(details ->> 'paginationToken') <= 2048 AND details ->> 'paginationToken' ~ '^[!-~]+$'),
                                    'pagination_token must be the paginationToken of the page before', 'Omit it for the first page.');
    IF v_is_extension THEN
        PERFORM appstore.check_argument(details ->> 'days' ~ '^[0-9]{1,2}$' AND (details ->> 'days')::integer BETWEEN 1 AND 90,
                                        'days must be from 1 to 90',
                                        'Apple extends by 90 days at most (4000009).'),
                appstore.check_argument(details ->> 'reason' ~ '^[0-3]$',
                                        'reason must be from 0 to 3',
                                        '0 undeclared, 1 customer satisfaction, 2 other, 3 service issue or outage (4000010).'),
                appstore.check_argument(details ->> 'requestIdentifier' IS NULL OR details ->> 'requestIdentifier' ~ c_request,
                                        'request_identifier must have 1 to 128 letters, digits, and . _ : -', 'Omit it for one in 24 hours.');
        v_body := jsonb_build_object('extendByDays', details -> 'days', 'extendReasonCode', details -> 'reason');
    END IF;
    IF kind = 'extend_for_all' THEN
        PERFORM appstore.check_argument(
            details -> 'storefronts' IS NULL OR NOT EXISTS (
                SELECT FROM jsonb_array_elements_text(details -> 'storefronts') AS s (code) WHERE s.code !~ '^[A-Z]{3}$'),
            'storefronts must be country codes of three capital letters', 'Such as USA and DEU (4000028); omit them for all.'),
            appstore.check_argument(details -> 'storefronts' IS DISTINCT FROM '[]', 'storefronts are empty', 'Omit them for all (4000027).');
        v_path := '{}';
        v_body := v_body || jsonb_strip_nulls(jsonb_build_object('productId', id, 'storefrontCountryCodes', details -> 'storefronts'));
    ELSIF kind = 'extend_status' THEN
        PERFORM appstore.check_argument(details ->> 'productId' ~ '^[A-Za-z0-9._-]{1,100}$', 'the productId must be named',
                                        'Give that of the extension.');
        v_path := ARRAY[details ->> 'productId', id];
    ELSIF kind = 'set_app_account_token' THEN
        PERFORM appstore.check_argument(details ->> 'token' IS NOT NULL, 'token must not be null', 'It is a UUID, the appAccountToken.');
        v_body := jsonb_build_object('appAccountToken', details -> 'token');
    ELSIF kind = 'group_members' THEN
        -- The largest page. Two pages of a group are two questions; a token can be longer than a key.
        v_query := jsonb_build_array(jsonb_build_array('limit', '100'));
        IF details ->> 'paginationToken' IS NOT NULL THEN
            v_query := v_query || jsonb_build_array(jsonb_build_array('paginationToken', details -> 'paginationToken'));
            v_key := id || ':' || left(encode(sha256(convert_to(details ->> 'paginationToken', 'UTF8')), 'hex'), 32);
        END IF;
    END IF;

    -- 2. The app and environment. A change must know its environment; it is Production unless the ledger knows better.
    SELECT p.bundle_id, p.environment INTO v_bundle, v_place
    FROM appstore.place_of_call(CASE WHEN v_of_one THEN id END, key, request_apple.bundle_id,
                                CASE WHEN kind = 'order_lookup' THEN 'Production' ELSE request_apple.environment END) AS p;
    IF v_place IS NULL AND v_of_group THEN
        -- Apple answers there only, as of version 1.23 of the API.
        v_place := 'Sandbox';
    ELSIF v_place IS NULL AND NOT (v_of_one AND NOT v_is_change) THEN
        v_place := 'Production';
    END IF;
    IF (key).key_id IS NOT NULL THEN
        PERFORM appstore.authorize((key).key_hash, verbs, CASE WHEN v_place IS NULL THEN enum_range(NULL::appstore.environment)
                                                               ELSE ARRAY[v_place] END, ARRAY[v_bundle]);
    END IF;
    IF kind IN ('set_app_account_token', 'extend_renewal_date') THEN
        SELECT t.original_transaction_id INTO v_original FROM appstore.transactions AS t
        WHERE t.transaction_id = request_apple.id AND t.environment = v_place;
        PERFORM appstore.check_argument(coalesce(v_original = id, true), 'id is a later transaction of its contract',
                                        format('Name the originalTransactionId %s (4000187).', v_original));
    END IF;
    IF v_is_extension THEN
        -- Without an identifier, one of the day, or that of the day before where it was used in the last 24 hours.
        v_day := to_char(clock_timestamp() AT TIME ZONE 'UTC' - interval '24 hours', '-YYYYMMDD');
        IF NOT EXISTS (SELECT FROM appstore.outbox AS c
                       WHERE c.call_key = lower(v_place::text) || ':' || request_apple.id || v_day AND c.kind = request_apple.kind
                         AND c.bundle_id = v_bundle
                         -- Of one that was given up, Apple may have heard.
                         AND ((c.state = 'open') IS TRUE
                              OR CASE c.state WHEN 'answered' THEN c.asked_at WHEN 'given_up' THEN c.settled_at END
                                 > clock_timestamp() - interval '24 hours')) THEN
            v_day := to_char(clock_timestamp() AT TIME ZONE 'UTC', '-YYYYMMDD');
        END IF;
        v_key := coalesce(details ->> 'requestIdentifier', id || v_day);
        v_body := v_body || jsonb_build_object('requestIdentifier', v_key);
    END IF;
    v_key := coalesce(lower(v_place::text), 'any') || ':'
             || CASE kind WHEN 'test_notification' THEN v_bundle WHEN 'extend_status' THEN array_to_string(v_path, ':') ELSE v_key END;
    v_payload := convert_to(jsonb_strip_nulls(jsonb_build_object(
        'path', CASE WHEN kind <> 'test_notification' THEN nullif(to_jsonb(v_path), '[]') END, 'query', v_query, 'body', v_body,
        'anyEnvironment', CASE WHEN v_place IS NULL THEN true END))::text, 'UTF8');

    -- 3. The call. The same question while one is open joins it; an extension that Apple has made is not made again.
    IF v_is_extension THEN
        SELECT c.call_id, c.payload, c.bundle_id INTO v_call FROM appstore.outbox AS c
        WHERE c.call_key = v_key AND c.kind = request_apple.kind AND c.state IN ('open', 'answered') ORDER BY c.call_id DESC LIMIT 1;
        PERFORM appstore.check_argument(
            v_call.call_id IS NULL OR (v_call.payload = v_payload AND v_call.bundle_id = v_bundle),
            format('call %s has the same requestIdentifier and extends otherwise', v_call.call_id), 'Give another request_identifier.');
        IF v_call.call_id IS NOT NULL THEN
            RETURN v_call.call_id;
        END IF;
    END IF;
    INSERT INTO appstore.outbox AS c (kind, call_key, bundle_id, environment, priority, payload, deadline_at)
    VALUES (request_apple.kind, v_key, v_bundle, coalesce(v_place, 'Production'), 1, v_payload, clock_timestamp() + CASE
        WHEN kind IN ('transaction_history', 'refund_history') THEN interval '7 days' WHEN kind = 'order_lookup' THEN '5 minutes'
        WHEN kind IN ('test_notification', 'test_status') THEN '10 minutes' WHEN v_is_change THEN '1 day' ELSE '1 hour' END)
    ON CONFLICT (call_key, kind) WHERE state = 'open' DO UPDATE
    SET priority = least(c.priority, excluded.priority), run_at = CASE WHEN c.is_leased THEN c.run_at ELSE least(c.run_at, clock_timestamp()) END
    WHERE c.bundle_id = excluded.bundle_id AND (c.payload = excluded.payload OR NOT v_is_change)
    RETURNING c.call_id, c.xmax = 0 AS is_new INTO v_call;
    IF v_call.call_id IS NULL THEN
        RAISE EXCEPTION 'an open call asks otherwise about the same'
            USING ERRCODE = 'object_in_use', HINT = 'Wait until it is settled: appstore.outbox_status lists the calls.';
    END IF;
    IF v_call.is_new THEN
        INSERT INTO appstore.audit_log (at, actor, action, event_ids, details)
        VALUES (clock_timestamp(), actor, 'request_apple', '{}', jsonb_strip_nulls(jsonb_build_object(
            'call_id', v_call.call_id, 'kind', kind, 'bundle_id', v_bundle, 'environment', v_place, 'id', id,
            'details', details - 'token')));
    END IF;
    RETURN v_call.call_id;
END
$$;
COMMENT ON FUNCTION appstore.request_apple IS
    'Checks a question or a change, and writes the call that sends it, or returns the open one that asks the same. Fails with '
    'invalid_parameter_value when an argument is wrong, and with object_in_use while an open call asks otherwise under the same key.';
