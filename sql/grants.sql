-- All privileges, from nothing: everything is revoked, then granted. `appstore-inbox migrate` runs this after the definitions, as appstore_owner.
-- PUBLIC can execute nothing: see the default privileges at the end of this file.

DO $revoke$
DECLARE
    who text;
BEGIN
    FOREACH who IN ARRAY ARRAY['PUBLIC', 'appstore_ingest', 'appstore_worker', 'appstore_operator', 'appstore_viewer', 'appstore_backend',
                               'appstore_reporter', 'appstore_api', 'appstore_console', 'appstore_bodies'] LOOP
        EXECUTE format('REVOKE ALL ON ALL TABLES IN SCHEMA appstore, appstore_reports FROM %s', who);
        EXECUTE format('REVOKE ALL ON ALL SEQUENCES IN SCHEMA appstore, appstore_reports FROM %s', who);
        EXECUTE format('REVOKE ALL ON ALL ROUTINES IN SCHEMA appstore, appstore_reports FROM %s', who);
        EXECUTE format('REVOKE ALL ON SCHEMA appstore, appstore_reports FROM %s', who);
    END LOOP;
END
$revoke$;

GRANT USAGE ON SCHEMA appstore
    TO appstore_ingest, appstore_worker, appstore_operator, appstore_viewer, appstore_backend, appstore_api, appstore_console, appstore_bodies;

-- Every daemon and command checks the version and the contract of the schema.
GRANT SELECT ON appstore.fence, appstore.schema_history
    TO appstore_ingest, appstore_worker, appstore_operator, appstore_viewer, appstore_backend, appstore_api, appstore_console;

-- ingest stores bodies through a function, and can do nothing else.
GRANT EXECUTE ON FUNCTION appstore.receive TO appstore_ingest;

-- worker: reads bodies; claims, merges registers, settles; never changes or deletes a body. It writes orders, claims and the derived columns
-- of contracts through functions only.
GRANT SELECT ON appstore.inbox, appstore.inbox_status, appstore.failed, appstore.unmatched, appstore.inbox_partitions, appstore.outbox_status,
    appstore.api_budget_status, appstore.outcome_history, appstore.owner_links, appstore.products, appstore.retention, appstore.audit_log, appstore.orders,
    appstore.token_orders, appstore.ownership_claims, appstore.effect_log, appstore.effects TO appstore_worker;
GRANT SELECT, UPDATE (run_at, attempts, is_isolated, blocked_since, last_error) ON appstore.inbox_queue TO appstore_worker;
GRANT SELECT ON appstore.outcomes TO appstore_worker;
GRANT SELECT, INSERT ON appstore.event_contracts TO appstore_worker;
GRANT SELECT, INSERT (environment, notification_uuid, first_event_id) ON appstore.seen_notifications TO appstore_worker;
GRANT SELECT, INSERT, UPDATE ON appstore.transactions, appstore.posted_types, appstore.v1_renewals, appstore.refund_requests, appstore.client_posts
    TO appstore_worker;
GRANT SELECT, INSERT (kind, call_key, bundle_id, event_id, asked_by, fallback_source, deadline_at),
      UPDATE (asked_by, epoch, is_leased, run_at) ON appstore.outbox TO appstore_worker;
GRANT SELECT, INSERT (lane, event_ids, is_alone, marked_at) ON appstore.batch_markers TO appstore_worker;
-- Of contracts it writes only the register of the renewal.
GRANT SELECT ON appstore.contracts TO appstore_worker;
GRANT INSERT (environment, original_transaction_id, renewal_status, renewal_product_id, auto_renew_product_id, auto_renew_status,
              expiration_intent, is_in_billing_retry_period, price_increase_status, grace_period_expires_date, renewal_date, renewal_price,
              renewal_currency, renewal_offer_type, renewal_offer_identifier, renewal_offer_discount_type, renewal_offer_period,
              eligible_win_back_offer_ids, recent_subscription_start_date, renewal_app_account_token, renewal_app_transaction_id,
              renewal_billing_plan_type, renewal_signed_date, renewal_hash, renewal_quantity, renewal_commitment_info),
      UPDATE (renewal_status, renewal_product_id, auto_renew_product_id, auto_renew_status, expiration_intent, is_in_billing_retry_period,
              price_increase_status, grace_period_expires_date, renewal_date, renewal_price, renewal_currency, renewal_offer_type,
              renewal_offer_identifier, renewal_offer_discount_type, renewal_offer_period, eligible_win_back_offer_ids,
              recent_subscription_start_date, renewal_app_account_token, renewal_app_transaction_id, renewal_billing_plan_type,
              renewal_signed_date, renewal_hash, renewal_quantity, renewal_commitment_info)
    ON appstore.contracts TO appstore_worker;
GRANT EXECUTE ON FUNCTION appstore.settle, appstore.recover_lost_batches, appstore.is_purchase, appstore.is_subscription, appstore.is_newer, appstore.lacks_constants, appstore.join_constants,
    appstore.with_type, appstore.apply_facts, appstore.record_refunds,
    appstore.record_found_statuses, appstore.derive_refund_requests,
    appstore.answer_call, appstore.end_call, appstore.postpone_call, appstore.fall_back, appstore.prepare_partitions,
    appstore.drop_aged_partition, appstore.expire, appstore.expire_calls, appstore.expire_notifications, appstore.inbox_statistics,
    appstore.storage_statistics, appstore.unknown_values, appstore.outbox_statistics, appstore.take_api_budget, appstore.block_api_endpoint, appstore.api_allowance,
    appstore.apply_consumption_policies, appstore.consumption_statistics, appstore.sequence_feed, appstore.expire_feed TO appstore_worker;
-- Functions merge the registers of app transactions, and of tokens for purchases outside the App Store. Who reported one says so by another.
GRANT EXECUTE ON FUNCTION appstore.merge_external_purchase_tokens, appstore.merge_app_transactions TO appstore_worker;
GRANT SELECT ON appstore.app_transactions TO appstore_viewer, appstore_operator;
GRANT SELECT ON appstore.user_app_transactions TO appstore_viewer, appstore_operator, appstore_backend;
GRANT EXECUTE ON FUNCTION appstore.app_transaction_user TO appstore_viewer, appstore_operator, appstore_backend;
GRANT EXECUTE ON FUNCTION appstore.api_submit_app_transaction, appstore.api_app_transactions TO appstore_api;
GRANT SELECT ON appstore.external_purchase_tokens, appstore.external_purchase_tokens_due TO appstore_viewer, appstore_operator, appstore_backend;
GRANT EXECUTE ON FUNCTION appstore.external_purchase_token_statistics TO appstore_worker, appstore_viewer, appstore_operator;
GRANT EXECUTE ON FUNCTION appstore.mark_external_purchase_token_reported TO appstore_operator, appstore_backend;
-- Of endpoints it sees what it leases.
GRANT EXECUTE ON FUNCTION appstore.lease_endpoints, appstore.poll_endpoints, appstore.take_deliveries, appstore.settle_deliveries,
    appstore.release_endpoint, appstore.endpoint_statistics, appstore.consumer_statistics, appstore.expire_deliveries TO appstore_worker;
-- It asks whether the certificates that sign are revoked, and rejects by what it reads.
GRANT SELECT ON appstore.certificates TO appstore_worker;
GRANT EXECUTE ON FUNCTION appstore.see_certificates, appstore.lease_certificate, appstore.settle_certificate, appstore.certificate_statistics
    TO appstore_worker;

-- The history is read through functions only.
GRANT EXECUTE ON FUNCTION appstore.plan_history, appstore.lease_history_windows, appstore.store_history_page, appstore.postpone_history_window,
    appstore.restart_history_window, appstore.advance_history_window, appstore.compare_history_window, appstore.classify_history,
    appstore.history_statistics, appstore.expire_history TO appstore_worker;

-- So are imports.
GRANT EXECUTE ON FUNCTION appstore.lease_import_chunks, appstore.settle_import_item, appstore.miss_import_item, appstore.end_import_lease,
    appstore.renew_import_lease, appstore.link_import_owners, appstore.set_import_token, appstore.import_statistics, appstore.expire_imports
    TO appstore_worker;

-- So is what was asked about stale contracts.
GRANT EXECUTE ON FUNCTION appstore.reconcile, appstore.reconcile_statistics, appstore.may_be_called, appstore.has_backlog TO appstore_worker;

-- What viewer and operator read: no body, no payload of a call, no hash of a key.
GRANT SELECT ON appstore.inbox_queue, appstore.batch_markers, appstore.outcomes, appstore.outcome_history, appstore.event_contracts,
    appstore.seen_notifications, appstore.transactions, appstore.posted_types, appstore.v1_renewals, appstore.refund_requests,
    appstore.consumption_obligations, appstore.consumption_policies, appstore.consumption_decisions, appstore.consumption_counted, appstore.consents, appstore.client_posts, appstore.token_orders, appstore.orders,
    appstore.ownership_claims,
    appstore.owner_links, appstore.user_tokens, appstore.forgotten_users, appstore.contracts,
    appstore.effect_log, appstore.effects, appstore.products, appstore.access_settings, appstore.audit_log, appstore.retention, appstore.maintenance_state,
    appstore.inbox_status, appstore.failed, appstore.unmatched, appstore.entitlement_terms, appstore.entitlements,
    appstore.consumption_requests, appstore.order_status, appstore.user_orders, appstore.payments, appstore.outbox_status,
    appstore.call_kinds, appstore.api_budgets, appstore.api_budget_status, appstore.inbox_partitions, appstore.feed_switch, appstore.feed_head, appstore.feed_generations, appstore.tells, appstore.feed, appstore.told_access,
    appstore.told_orders, appstore.feed_consumers, appstore.endpoints, appstore.open_deliveries, appstore.redeliveries,
    appstore.delivery_attempts, appstore.endpoint_status, appstore.deliveries, appstore.certificates, appstore.certificate_status,
    appstore.revoked_events TO appstore_viewer, appstore_operator;
GRANT SELECT ON appstore.history_cursors, appstore.history_windows, appstore.history_records, appstore.history_counts, appstore.history_coverage,
    appstore.history_gaps TO appstore_viewer, appstore_operator;
GRANT SELECT ON appstore.imports, appstore.import_items, appstore.import_chunks, appstore.import_links_due, appstore.import_tokens, appstore.import_rates,
    appstore.customer_revisions, appstore.import_status, appstore.import_misses, appstore.live_since TO appstore_viewer, appstore_operator;
GRANT SELECT ON appstore.reconcile_walks, appstore.reconcile_watches, appstore.reconcile_questions, appstore.reconcile_counts,
    appstore.stale_contracts, appstore.reconcile_status TO appstore_viewer, appstore_operator;
GRANT EXECUTE ON FUNCTION appstore.still_holds, appstore.is_stale, appstore.is_of_earlier_period, appstore.is_refund_in_doubt
    TO appstore_viewer, appstore_operator;
GRANT SELECT (key_id, name, bundle_ids, environments, verbs, created_at, expires_at, revoked_at, last_used_at) ON appstore.api_keys
    TO appstore_viewer, appstore_operator;
GRANT EXECUTE ON FUNCTION appstore.schema_fingerprint, appstore.timeline, appstore.entries_about, appstore.entitlements_at, appstore.inbox_statistics,
    appstore.storage_statistics, appstore.odd_members, appstore.unknown_values,
    appstore.events_not_exactly_once, appstore.state_digest, appstore.state_digest_parts, appstore.chained_digest, appstore.chain_link,
    appstore.find_events, appstore.explain_customer, appstore.endpoint_statistics, appstore.consumer_statistics,
    appstore.api_allowance, appstore.certificate_statistics, appstore.signers_of TO appstore_viewer, appstore_operator;

-- They and the worker explain an event. The function shows no body.
GRANT EXECUTE ON FUNCTION appstore.explain TO appstore_worker, appstore_viewer, appstore_operator;

-- operator repairs through functions.
GRANT EXECUTE ON FUNCTION appstore.requeue_event, appstore.discard_event, appstore.requeue, appstore.discard, appstore.begin_repair,
    appstore.count_repair, appstore.stop_repair, appstore.set_user_token, appstore.set_leeway, appstore.link_owner, appstore.unlink_owner, appstore.forget,
    appstore.answer_consumption, appstore.consumption_answered, appstore.consumption_documents, appstore.give_consent,
    appstore.withdraw_consent, appstore.repeat_call, appstore.make_api_key, appstore.revoke_api_key, appstore.enable_feed,
    appstore.disable_feed, appstore.set_consumer, appstore.remove_consumer, appstore.make_endpoint, appstore.change_endpoint,
    appstore.pause_endpoint, appstore.resume_endpoint, appstore.remove_endpoint, appstore.rotate_endpoint_secret, appstore.test_endpoint,
    appstore.redeliver, appstore.stop_redelivery, appstore.ignore_revocation TO appstore_operator;
GRANT EXECUTE ON FUNCTION appstore.walk_history, appstore.set_history_mode, appstore.reconcile_contract TO appstore_operator;
GRANT EXECUTE ON FUNCTION appstore.begin_import, appstore.add_import_items, appstore.finish_import, appstore.change_import,
    appstore.set_live_since TO appstore_operator;
GRANT EXECUTE ON FUNCTION appstore.finish_transaction, appstore.extend_for_all TO appstore_operator;
GRANT EXECUTE ON FUNCTION appstore.ask_apple, appstore.set_app_account_token, appstore.extend_renewal_date, appstore.call_document
    TO appstore_operator, appstore_backend;
-- The steps of repairs, which a worker takes; an operator may while none runs.
GRANT EXECUTE ON FUNCTION appstore.take_repair_step TO appstore_operator, appstore_worker;
GRANT INSERT, UPDATE, DELETE ON appstore.products, appstore.consumption_policies TO appstore_operator;
GRANT UPDATE (bodies, outcomes, rejected_bodies, rejected_outcomes, notifications, feed, deliveries, failed_deliveries, history, import_bodies,
              partition_events)
    ON appstore.retention TO appstore_operator;

-- backend: the shop's own backend, by SQL.
GRANT EXECUTE ON FUNCTION appstore.create_order, appstore.set_user_token, appstore.link_owner, appstore.unlink_owner, appstore.answer_consumption,
    appstore.consumption_answered, appstore.give_consent, appstore.withdraw_consent, appstore.entitlements_at, appstore.take, appstore.set_consumer, appstore.remove_consumer TO appstore_backend;
GRANT SELECT ON appstore.feed, appstore.feed_head, appstore.feed_generations, appstore.feed_consumers, appstore.consumption_requests, appstore.order_status, appstore.user_orders, appstore.payments, appstore.effects,
    appstore.entitlement_terms, appstore.entitlements, appstore.access_settings TO appstore_backend;
-- What the views and functions of entitlements call.
GRANT EXECUTE ON FUNCTION appstore.awaits_renewal, appstore.active_until, appstore.is_active, appstore.is_in_grace, appstore.access_state
    TO appstore_viewer, appstore_operator, appstore_backend;

-- What the views of entitlements and unmatched purchases call.
GRANT EXECUTE ON FUNCTION appstore.is_refund TO appstore_worker, appstore_viewer, appstore_operator, appstore_backend;

-- What appstore.unmatched and a statement of the worker call.
GRANT EXECUTE ON FUNCTION appstore.paid_status, appstore.paid_period, appstore.purchase, appstore.is_part, appstore.revoked_seats,
    appstore.whole_number, appstore.period_user, appstore.order_user TO appstore_worker, appstore_viewer, appstore_operator;

-- What the views and functions about owners call.
GRANT EXECUTE ON FUNCTION appstore.is_forgotten, appstore.owner_of
    TO appstore_worker, appstore_viewer, appstore_operator, appstore_backend;

-- api: the HTTP API for the shop's backend. Each function checks the key in its arguments.
GRANT EXECUTE ON FUNCTION appstore.api_key, appstore.api_create_order, appstore.api_order, appstore.api_user_orders,
    appstore.api_set_user_token, appstore.api_link_owner, appstore.api_submit_transaction, appstore.api_submit_receipt, appstore.api_event, appstore.api_entitlements,
    appstore.api_subscription, appstore.api_receipt_charges, appstore.api_receipt_question, appstore.api_feed, appstore.api_feed_entry,
    appstore.feed_end, appstore.api_consumer, appstore.api_set_consumer, appstore.api_remove_consumer, appstore.api_consumption,
    appstore.api_answer_consumption, appstore.api_give_consent, appstore.api_withdraw_consent, appstore.api_request_apple,
    appstore.api_call TO appstore_api;

-- console: by itself it only finds out who uses it.
GRANT EXECUTE ON FUNCTION appstore.begin_console_session, appstore.console_session, appstore.log_out_of_console TO appstore_console;
GRANT EXECUTE ON FUNCTION appstore.make_console_login TO appstore_viewer, appstore_operator;
GRANT SELECT (session_id, person, role, shows_bodies, began_at, expires_at, ended_at, ended_by) ON appstore.console_sessions
    TO appstore_viewer, appstore_operator;
GRANT EXECUTE ON FUNCTION appstore.end_console_session TO appstore_operator;

-- bodies: shows the body of an event, which the audit records.
GRANT EXECUTE ON FUNCTION appstore.show_body TO appstore_bodies;

-- console: pages
GRANT SELECT ON appstore.repair_status TO appstore_viewer, appstore_operator;
GRANT EXECUTE ON FUNCTION appstore.ownership_of TO appstore_viewer, appstore_operator;

-- reporter: the reports, of which viewer and operator see more anyway.
GRANT USAGE ON SCHEMA appstore_reports TO appstore_reporter, appstore_viewer, appstore_operator;
GRANT SELECT ON appstore_reports.transactions TO appstore_reporter, appstore_viewer, appstore_operator;
GRANT EXECUTE ON FUNCTION appstore_reports.active_subscriptions, appstore_reports.subscriptions_daily, appstore_reports.mrr,
    appstore_reports.mrr_by_month, appstore_reports.movement, appstore_reports.churn, appstore_reports.trials, appstore_reports.retention,
    appstore_reports.refunds, appstore_reports.renewal_status_at,
    -- What the view calls.
    appstore_reports.corrections TO appstore_reporter, appstore_viewer, appstore_operator;
GRANT SELECT ON appstore.fx_rates TO appstore_viewer, appstore_operator;
GRANT INSERT, UPDATE, DELETE ON appstore.fx_rates TO appstore_operator;

-- PostgreSQL lets PUBLIC execute a new function. Without IN SCHEMA: a default of one schema can only add to the general one.
ALTER DEFAULT PRIVILEGES FOR ROLE appstore_owner REVOKE EXECUTE ON ROUTINES FROM PUBLIC;
