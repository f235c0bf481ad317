/// Scripts that fill a database.
enum Story {
    /// A hundred outcomes, one each second of the last minutes: each tenth failed, each seventh a REFUND, with their bodies.
    static let events = """
        INSERT INTO appstore.inbox (event_id, source, received_at, body)
        SELECT n, 'notification_v2', now() - (200 - n) * interval '1 second', convert_to('{"signedPayload":"' || n || '"}', 'UTF8')
        FROM generate_series(1, 100) AS n;
        INSERT INTO appstore.outcomes (event_id, source, received_at, settled_at, run, attempts, result, reason, notification_type, subtype,
                                       notification_uuid, environment, bundle_id, transaction_id, original_transaction_id)
        SELECT n, 'notification_v2', now() - (200 - n) * interval '1 second', now() - (200 - n) * interval '1 second', 1, 1,
               (CASE WHEN n % 10 = 0 THEN 'failed' ELSE 'applied' END)::appstore.result, CASE WHEN n % 10 = 0 THEN 'merge_failed' END,
               CASE WHEN n % 7 = 0 THEN 'REFUND' ELSE 'DID_RENEW' END, NULL, md5(n::text)::uuid, 'Production', 'com.example.shop',
               n::text, (n % 5)::text
        FROM generate_series(1, 100) AS n;
        INSERT INTO appstore.seen_notifications (environment, notification_uuid, first_event_id)
        SELECT 'Production', md5(n::text)::uuid, n FROM generate_series(1, 100) AS n;
        SELECT setval('appstore.inbox_event_id', 1000);
        """

    /// User alice, who ordered and paid; the charge was learned two days and eight hours after it happened.
    static let customer = """
        INSERT INTO appstore.token_orders (environment, order_no, user_id, product_id, ordered_at)
        VALUES ('Production', '00000000-0000-4000-8000-000000000001', 'alice', 'pro.monthly', now() - interval '3 days');
        INSERT INTO appstore.transactions (environment, transaction_id, original_transaction_id, bundle_id, product_id, product_type,
            purchase_date, expires_date, in_app_ownership_type, app_account_token, first_token, signed_date, first_signed_date, payload_hash,
            period_no, is_subscription, price, currency)
        VALUES ('Production', '700', '700', 'com.example.shop', 'pro.monthly', 'Auto-Renewable Subscription', now() - interval '3 days',
                now() + interval '27 days', 'PURCHASED', '00000000-0000-4000-8000-000000000001', '00000000-0000-4000-8000-000000000001',
                now() - interval '3 days', now() - interval '3 days', '\\x01', gen_random_uuid(), true, 9990, 'EUR');
        SELECT appstore.derive_ledger('Production', ARRAY['700'], ARRAY['700']);
        INSERT INTO appstore.outcomes (event_id, source, received_at, settled_at, run, attempts, result, notification_type, environment,
                                       bundle_id, transaction_id, original_transaction_id)
        VALUES (700, 'notification_v2', now() - interval '16 hours', now() - interval '16 hours', 1, 1, 'applied', 'SUBSCRIBED', 'Production',
                'com.example.shop', '700', '700');
        INSERT INTO appstore.effect_log (effect_id, environment, kind, subject, event_id, occurred_at, recorded_at, original_transaction_id,
                                         transaction_id, product_id, user_id)
        VALUES (gen_random_uuid(), 'Production', 'granted', '700', 700, now() - interval '3 days', now() - interval '16 hours', '700', '700',
                'pro.monthly', 'alice');
        """
}
