-- When autovacuum visits the tables that grow with the events. By default it waits for a fifth of a table to die and for a tenth to change: of fifty
-- million rows that is ten million dead ones, and statistics of last month. Tables with settings of their own have them where they are made.
-- A test names the tables that stay small.
DO $storage$
DECLARE
    v_table text;
BEGIN
    FOREACH v_table IN ARRAY ARRAY[
        'outcome_history', 'event_contracts', 'seen_notifications', 'transactions', 'posted_types', 'v1_renewals', 'refund_requests',
        'consumption_obligations', 'client_posts', 'user_tokens', 'forgotten_users', 'token_orders', 'ownership_claims', 'owner_links', 'contracts',
        'effect_log', 'outbox', 'consents',
        'consumption_decisions', 'consumption_counted', 'audit_log', 'told_access', 'told_orders', 'open_deliveries', 'delivery_attempts',
        'history_records', 'history_windows', 'reconcile_watches', 'reconcile_questions', 'import_items', 'customer_revisions'] LOOP
        EXECUTE format('ALTER TABLE appstore.%I SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05, '
                       'autovacuum_analyze_scale_factor = 0.02)', v_table);
    END LOOP;
END
$storage$;
