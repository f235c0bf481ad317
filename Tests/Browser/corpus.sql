-- What an attacker, or a careless person, could have stored in each field that the console shows: markup, quotation marks, characters that turn
-- the direction of reading or that control a terminal, and words without an end. Run as a superuser on the database of deploy/demo.
\set ON_ERROR_STOP on
BEGIN;

-- The mark of a field is looked for on the pages.
CREATE FUNCTION pg_temp.hostile(field text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT '<img src=x onerror=alert("' || field || '")>' || E'\u202E\u2066\u0001\u007F' || '''"`&lt;</td></table></code><script>alert(1)</script>'
$$;
CREATE FUNCTION pg_temp.endless(field text) RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT field || repeat('W', 300) $$;

-- People: the names are logins.
CREATE ROLE :"operator" LOGIN IN ROLE appstore_operator, appstore_bodies;
CREATE ROLE :"viewer" LOGIN IN ROLE appstore_viewer;
CREATE ROLE :"guest" LOGIN IN ROLE appstore_viewer;

-- A customer.
SELECT appstore.create_order(pg_temp.hostile('user'), pg_temp.hostile('ordered')) AS hostile_order \gset
INSERT INTO appstore.products (bundle_id, product_id, entitlement)
VALUES (pg_temp.hostile('app'), pg_temp.hostile('product'), pg_temp.hostile('entitlement'));
INSERT INTO appstore.transactions (environment, transaction_id, original_transaction_id, bundle_id, product_id, product_type, purchase_date, expires_date,
                                   currency, price, storefront, offer_type, offer_identifier, quantity, transaction_reason, in_app_ownership_type,
                                   signed_date, first_signed_date, payload_hash, period_no, is_subscription)
SELECT 'Production', CASE n WHEN 1 THEN pg_temp.hostile('transaction') ELSE pg_temp.endless('period') || n END, pg_temp.hostile('contract'),
       pg_temp.hostile('app'), pg_temp.hostile('product'), 'Auto-Renewable Subscription', now() - (13 - n) * interval '30 days',
       now() - (12 - n) * interval '30 days', 'EUR', 9990, pg_temp.hostile('storefront'), 1, pg_temp.hostile('offer'), 1,
       CASE n WHEN 1 THEN 'PURCHASE' ELSE 'RENEWAL' END, 'PURCHASED', now(), now(), '\x00', gen_random_uuid(), true
FROM generate_series(1, 12) AS n;
INSERT INTO appstore.contracts (environment, original_transaction_id, user_id, owner_since, bundle_id, product_id, product_type, status, will_renew,
                                started_at, current_transaction_id, current_period_start, current_period_end, access_until)
VALUES ('Production', pg_temp.hostile('contract'), pg_temp.hostile('user'), now(), pg_temp.hostile('app'), pg_temp.hostile('product'),
        'Auto-Renewable Subscription', 1, true, now() - interval '360 days', pg_temp.endless('period') || 12, now() - interval '1 hour',
        now() + interval '30 days', now() + interval '30 days');
UPDATE appstore.token_orders AS o SET status = 'paid', period_no = t.period_no, transaction_id = t.transaction_id, price = 9990, currency = 'EUR', quantity = 1,
       original_transaction_id = t.original_transaction_id, paid_at = t.purchase_date, paid_product_id = t.product_id, reason = 'product_mismatch'
FROM appstore.transactions AS t WHERE o.order_no = :'hostile_order' AND t.transaction_id = pg_temp.hostile('transaction');
INSERT INTO appstore.ownership_claims (environment, original_transaction_id, kind, source_id, user_id, effective_at)
VALUES ('Production', pg_temp.hostile('contract'), 'order', pg_temp.hostile('source'), pg_temp.hostile('user'), now());
INSERT INTO appstore.client_posts (environment, original_transaction_id, user_id, is_receipt, transaction_id, received_at, event_id, conflict)
SELECT 'Production', pg_temp.hostile('contract'), u, false, pg_temp.hostile('transaction'), now(), 1, 'owner_conflict'
FROM unnest(ARRAY[pg_temp.hostile('poster'), left(pg_temp.endless('poster'), 255)]) AS u;

-- Events: one with all labels, dead letters, one that waits, and enough to act on and to page through.
INSERT INTO appstore.inbox (event_id, source, received_at, body)
SELECT n, 'notification_v2', now(), convert_to(jsonb_build_object('signedPayload', pg_temp.hostile('body'))::text, 'UTF8')
FROM generate_series(10000, 10199) AS n;
SELECT setval('appstore.inbox_event_id', 20000);
-- Labels come from what Apple has signed: each fourth event is hostile, so that a page has the weight that it may have.
INSERT INTO appstore.outcomes (event_id, source, received_at, settled_at, run, attempts, result, reason, last_error, notification_type, subtype,
                               environment, bundle_id, transaction_id, original_transaction_id)
SELECT n, 'notification_v2', now() - interval '1 minute', now() - (20000 - n) * interval '1 millisecond', 1, 20,
       CASE WHEN n < 10030 THEN 'failed' ELSE 'rejected' END::appstore.result,
       CASE WHEN n < 10030 THEN pg_temp.hostile('reason') WHEN n < 10180 THEN 'signature_invalid' WHEN n < 10190 THEN 'of_mouse' ELSE 'of_keys' END,
       pg_temp.hostile('error'), label.type, label.subtype, 'Production', label.app, label.transaction, label.contract
FROM generate_series(10000, 10198) AS n
CROSS JOIN LATERAL (
    SELECT pg_temp.hostile('type'), pg_temp.hostile('subtype'), pg_temp.hostile('app'), pg_temp.hostile('transaction'), pg_temp.hostile('contract')
    WHERE n % 4 = 0
    UNION ALL
    SELECT 'DID_RENEW', NULL, 'com.example.shop', '1000' || n, '1000' || n WHERE n % 4 > 0
) AS label (type, subtype, app, transaction, contract);
INSERT INTO appstore.inbox_queue (event_id, run_at, attempts, bytes, last_error) VALUES (10199, now() + interval '1 day', 3, 10, pg_temp.hostile('waiting'));
INSERT INTO appstore.outcome_history SELECT now(), pg_temp.hostile('replacer'), o.* FROM appstore.outcomes AS o WHERE o.event_id = 10000;
UPDATE appstore.outcomes SET run = 2 WHERE event_id = 10000;
INSERT INTO appstore.effect_log (effect_id, environment, kind, subject, event_id, occurred_at, original_transaction_id, transaction_id, product_id, user_id)
SELECT gen_random_uuid(), 'Production', CASE n WHEN 1 THEN 'granted' ELSE 'renewed' END, pg_temp.hostile('subject') || n, CASE WHEN n > 3 THEN 10001 ELSE 10000 END, now() - n * interval '1 day',
       pg_temp.hostile('contract'), pg_temp.hostile('transaction'), pg_temp.hostile('product'), pg_temp.hostile('user') FROM generate_series(1, 60) AS n;

-- What goes out.
INSERT INTO appstore.endpoints (name, url, format, with_wrong_bundle, keeps_order, max_in_flight, timeout_seconds, state, why, position, failing_since,
                                open_until, failures, last_error)
SELECT name, 'http://127.0.0.1:1/' || replace(pg_temp.hostile('url'), ' ', '+'), 'event', false, true, 1, 15, 'paused',
       pg_temp.hostile('why'), 0, now(), now(), 7, pg_temp.hostile('endpoint-error')
FROM unnest(ARRAY['hostile', rpad('long-name', 63, '-w'), 'of-mouse', 'of-keys']) AS name;
INSERT INTO appstore.open_deliveries (endpoint, position, subject, run_at, attempts, first_failed_at, last_error, given_up_at)
SELECT 'hostile', n, pg_temp.hostile('delivery-subject'), now() + interval '1 day', 1, now(), pg_temp.hostile('delivery-error'),
       CASE WHEN n > 2 THEN now() END FROM generate_series(1, 4) AS n;
INSERT INTO appstore.delivery_attempts (endpoint, position, subject, at, is_redelivery, result, status, milliseconds, answer, error)
SELECT 'hostile', n, 'x', now(), false, 'failed', 500, 12, pg_temp.hostile('answer'), pg_temp.hostile('attempt-error') FROM generate_series(1, 60) AS n;
INSERT INTO appstore.feed_consumers (name, position, moved_at) VALUES (rpad('consumer', 63, '-w'), 0, now());
INSERT INTO appstore.history_cursors (bundle_id, environment, since, anchor, near_until, second_until)
VALUES (pg_temp.hostile('history'), 'Production', now(), now(), now(), now());
INSERT INTO appstore.api_budgets (bundle_id, environment, endpoint, setting, tokens, blocked_until)
VALUES (pg_temp.hostile('budget'), 'Production', 'transaction_history', 1, 1, now() + interval '1 hour');
INSERT INTO appstore.consumption_obligations (environment, transaction_id, original_transaction_id, asked_at, due_at, reason)
VALUES ('Production', pg_temp.hostile('transaction'), pg_temp.hostile('contract'), now(), now() + interval '1 hour', pg_temp.hostile('asked'));
INSERT INTO appstore.imports (bundle_id, depth, file_name, file_sha256, state, made_by, next_line)
VALUES (pg_temp.hostile('import'), 'statuses', pg_temp.hostile('file'), sha256('x'), 'running', pg_temp.hostile('maker'), 2);
INSERT INTO appstore.import_chunks (import_id, first_line, end_line, phase, environment, run_at, last_error)
SELECT i.import_id, 1, 2, 'ask', 'Production', now() + interval '1 day', pg_temp.hostile('chunk') FROM appstore.imports AS i;

-- What operators write.
INSERT INTO appstore.audit_log (at, actor, action, event_ids, note, details)
SELECT now() - interval '1 hour', label.actor, label.action, ARRAY[CASE WHEN n > 3 THEN 10001 ELSE 10000 END, n], label.note,
       jsonb_build_object('details', label.details)
FROM generate_series(1, 120) AS n
CROSS JOIN LATERAL (
    SELECT pg_temp.hostile('actor'), pg_temp.hostile('action'), pg_temp.hostile('note'), pg_temp.hostile('details') WHERE n % 2 = 0
    UNION ALL
    SELECT 'alice', 'requeue', 'mended', 'some' WHERE n % 2 > 0
) AS label (actor, action, note, details);
INSERT INTO appstore.repairs (action, filter, note, actor, expected, state, run_at, ended_at, last_error)
SELECT 'requeue', ROW(NULL, label.filter, NULL, NULL, NULL, NULL, NULL, NULL)::appstore.repair_filter, label.note, label.actor, 100,
       CASE WHEN n > 3 THEN 'failed' ELSE 'running' END, now() + interval '1 day', CASE WHEN n > 3 THEN now() END, label.error
FROM generate_series(1, 45) AS n
CROSS JOIN LATERAL (
    SELECT pg_temp.hostile('filter'), pg_temp.hostile('repair-note'), pg_temp.hostile('repairer'), pg_temp.hostile('repair-error') WHERE n % 2 = 0
    UNION ALL
    SELECT 'merge_failed', 'mended', 'alice', 'deadlock detected' WHERE n % 2 > 0
) AS label (filter, note, actor, error);
INSERT INTO appstore.console_sessions (session_hash, person, role, shows_bodies, began_at, expires_at)
SELECT sha256('of mouse'), pg_temp.hostile('session'), 'viewer', true, now(), now() + interval '1 hour'
UNION ALL SELECT sha256('of keys'), pg_temp.hostile('session'), 'viewer', true, now(), now() + interval '1 hour';

-- Customers to act on.
SELECT appstore.create_order('forgotten by ' || hand, 'coins') FROM unnest(ARRAY['mouse', 'keys']) AS hand;
COMMIT;
