-- Rows of each table for 19.sql. A new table needs rows here, too: write them.
CREATE TABLE appstore.feed_from_1 PARTITION OF appstore.feed FOR VALUES FROM (1) TO (1001);
ALTER TABLE appstore.feed_from_1 OWNER TO appstore_owner;
--
-- PostgreSQL database dump
--



SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;


SET SESSION AUTHORIZATION DEFAULT;

ALTER TABLE appstore.api_budgets DISABLE TRIGGER ALL;

INSERT INTO appstore.api_budgets (bundle_id, environment, endpoint, setting, lowered_to, last_429_at, tokens, refilled_at, blocked_until, hour_began, used_this_hour, last_class) VALUES ('b 1', 'Production', 'consumption', 40, NULL, NULL, 40, '2026-11-29 06:15:04.826623+00', NULL, '2026-11-29 06:00:00+00', 0, NULL);
INSERT INTO appstore.api_budgets (bundle_id, environment, endpoint, setting, lowered_to, last_429_at, tokens, refilled_at, blocked_until, hour_began, used_this_hour, last_class) VALUES ('b 2', 'Production', 'consumption', 40, NULL, NULL, 40, '2026-11-29 06:15:04.826808+00', NULL, '2026-11-29 06:00:00+00', 0, NULL);
INSERT INTO appstore.api_budgets (bundle_id, environment, endpoint, setting, lowered_to, last_429_at, tokens, refilled_at, blocked_until, hour_began, used_this_hour, last_class) VALUES ('b 3', 'Production', 'consumption', 40, NULL, NULL, 40, '2026-11-29 06:15:04.826818+00', NULL, '2026-11-29 06:00:00+00', 0, NULL);


ALTER TABLE appstore.api_budgets ENABLE TRIGGER ALL;


ALTER TABLE appstore.api_keys DISABLE TRIGGER ALL;

INSERT INTO appstore.api_keys (key_id, name, key_hash, bundle_ids, environments, verbs, created_at, expires_at, revoked_at, last_used_at) OVERRIDING SYSTEM VALUE VALUES (1, 'k', '\x2c70e12b7a0646f92279f427c7b38e7334d8e5389cff167a1dc30e73f826b683', NULL, '{Production}', '{orders:create,feed:read}', '2026-11-29 06:15:04.834248+00', NULL, NULL, NULL);


ALTER TABLE appstore.api_keys ENABLE TRIGGER ALL;


ALTER TABLE appstore.app_transactions DISABLE TRIGGER ALL;

INSERT INTO appstore.app_transactions (environment, app_transaction_id, bundle_id, original_application_version, application_version, original_purchase_date, original_platform, preorder_date, store_type, revocation_date, signed_date, payload_hash, event_id, known, user_id, posted_at, post_event_id) VALUES ('Production', '700', 'b 1', '3', '7', '2025-01-01 00:00:00+00', 'iOS', NULL, 'CONSUMER', NULL, '2026-01-01 00:00:00+00', '\x01', 1, NULL, 'user 1', '2026-01-01 00:00:01+00', 1);
INSERT INTO appstore.app_transactions (environment, app_transaction_id, bundle_id, original_application_version, application_version, original_purchase_date, original_platform, preorder_date, store_type, revocation_date, signed_date, payload_hash, event_id, known, user_id, posted_at, post_event_id) VALUES ('Sandbox', '701', 'b 1', '1.0', NULL, NULL, NULL, NULL, NULL, NULL, '2026-01-01 00:00:00+00', '\x02', 2, NULL, NULL, NULL, NULL);


ALTER TABLE appstore.app_transactions ENABLE TRIGGER ALL;


ALTER TABLE appstore.audit_log DISABLE TRIGGER ALL;

INSERT INTO appstore.audit_log (audit_id, at, actor, action, event_ids, note, details) OVERRIDING SYSTEM VALUE VALUES (1, '2026-11-29 06:15:04.421381+00', 'by_test', 'requeue', '{1}', NULL, NULL);
INSERT INTO appstore.audit_log (audit_id, at, actor, action, event_ids, note, details) OVERRIDING SYSTEM VALUE VALUES (2, '2026-11-29 06:15:04.421381+00', 'by_test', 'requeue', '{2}', NULL, NULL);
INSERT INTO appstore.audit_log (audit_id, at, actor, action, event_ids, note, details) OVERRIDING SYSTEM VALUE VALUES (3, '2026-11-29 06:15:04.421381+00', 'by_test', 'requeue', '{3}', NULL, NULL);


ALTER TABLE appstore.audit_log ENABLE TRIGGER ALL;


ALTER TABLE appstore.batch_markers DISABLE TRIGGER ALL;

INSERT INTO appstore.batch_markers (lane, event_ids, is_alone, marked_at, lost_at, server_start) VALUES (1, '{1,2}', false, '2026-11-29 06:15:04.421381+00', NULL, '2026-11-29 06:15:01.740986+00');


ALTER TABLE appstore.batch_markers ENABLE TRIGGER ALL;


ALTER TABLE appstore.certificates DISABLE TRIGGER ALL;

INSERT INTO appstore.certificates (fingerprint, certificate, issuer, first_seen_at, seen_at, status, this_update, next_update, answered_at, revoked_at, crl_reason, is_ignored, run_at, failures, last_error, epoch, leased_until) VALUES ('\x9f91161f43433e49a6de6db680d79f60159f2e4ac9172621a12846428158440b', '\x6c656166', '\x697373756572', '2026-11-29 06:15:04.834727+00', '2026-11-29 06:15:04.834727+00', 'good', '2026-11-29 06:15:04.421381+00', '2026-11-30 06:15:04.421381+00', '2026-11-29 06:15:04.421381+00', NULL, NULL, false, '2026-11-29 06:15:04.834729+00', 0, NULL, 0, NULL);


ALTER TABLE appstore.certificates ENABLE TRIGGER ALL;


ALTER TABLE appstore.client_posts DISABLE TRIGGER ALL;

INSERT INTO appstore.client_posts (post_id, environment, original_transaction_id, user_id, is_receipt, transaction_id, received_at, event_id, conflict) OVERRIDING SYSTEM VALUE VALUES (1, 'Production', '1', 'user 1', false, '1', '2026-01-02 00:00:00+00', 1, NULL);
INSERT INTO appstore.client_posts (post_id, environment, original_transaction_id, user_id, is_receipt, transaction_id, received_at, event_id, conflict) OVERRIDING SYSTEM VALUE VALUES (2, 'Production', '2', 'user 2', false, '2', '2026-01-02 00:00:00+00', 2, NULL);
INSERT INTO appstore.client_posts (post_id, environment, original_transaction_id, user_id, is_receipt, transaction_id, received_at, event_id, conflict) OVERRIDING SYSTEM VALUE VALUES (3, 'Production', '3', 'user 3', false, '3', '2026-01-02 00:00:00+00', 3, NULL);
INSERT INTO appstore.client_posts (post_id, environment, original_transaction_id, user_id, is_receipt, transaction_id, received_at, event_id, conflict) OVERRIDING SYSTEM VALUE VALUES (4, 'Production', '1', 'user 1', true, NULL, '2026-01-02 00:00:00+00', 1, NULL);
INSERT INTO appstore.client_posts (post_id, environment, original_transaction_id, user_id, is_receipt, transaction_id, received_at, event_id, conflict) OVERRIDING SYSTEM VALUE VALUES (5, 'Production', '2', 'user 2', true, NULL, '2026-01-02 00:00:00+00', 2, NULL);
INSERT INTO appstore.client_posts (post_id, environment, original_transaction_id, user_id, is_receipt, transaction_id, received_at, event_id, conflict) OVERRIDING SYSTEM VALUE VALUES (6, 'Production', '3', 'user 3', true, NULL, '2026-01-02 00:00:00+00', 3, NULL);


ALTER TABLE appstore.client_posts ENABLE TRIGGER ALL;


ALTER TABLE appstore.consents DISABLE TRIGGER ALL;

INSERT INTO appstore.consents (consent_id, user_id, given_at, given_by, evidence, withdrawn_at, withdrawn_by) OVERRIDING SYSTEM VALUE VALUES (1, 'user 1', '2026-01-02 00:00:00+00', 'by_test', 'terms', '2026-11-29 06:15:04.421381+00', 'by_test');
INSERT INTO appstore.consents (consent_id, user_id, given_at, given_by, evidence, withdrawn_at, withdrawn_by) OVERRIDING SYSTEM VALUE VALUES (2, 'user 2', '2026-01-02 00:00:00+00', 'by_test', 'terms', '2026-11-29 06:15:04.421381+00', 'by_test');
INSERT INTO appstore.consents (consent_id, user_id, given_at, given_by, evidence, withdrawn_at, withdrawn_by) OVERRIDING SYSTEM VALUE VALUES (3, 'user 3', '2026-01-02 00:00:00+00', 'by_test', 'terms', '2026-11-29 06:15:04.421381+00', 'by_test');
INSERT INTO appstore.consents (consent_id, user_id, given_at, given_by, evidence, withdrawn_at, withdrawn_by) OVERRIDING SYSTEM VALUE VALUES (4, 'user 1', '2026-01-02 00:00:00+00', 'by_test', 'terms', NULL, NULL);
INSERT INTO appstore.consents (consent_id, user_id, given_at, given_by, evidence, withdrawn_at, withdrawn_by) OVERRIDING SYSTEM VALUE VALUES (5, 'user 2', '2026-01-02 00:00:00+00', 'by_test', 'terms', NULL, NULL);
INSERT INTO appstore.consents (consent_id, user_id, given_at, given_by, evidence, withdrawn_at, withdrawn_by) OVERRIDING SYSTEM VALUE VALUES (6, 'user 3', '2026-01-02 00:00:00+00', 'by_test', 'terms', NULL, NULL);


ALTER TABLE appstore.consents ENABLE TRIGGER ALL;


ALTER TABLE appstore.console_logins DISABLE TRIGGER ALL;

INSERT INTO appstore.console_logins (token_hash, person, role, shows_bodies, expires_at) VALUES ('\x3c469e9d6c5875d37a43f353d4f88e61fcf812c66eee3457465a40b0da4153e0', 'ann', 'viewer', false, '2026-11-29 06:15:04.421381+00');


ALTER TABLE appstore.console_logins ENABLE TRIGGER ALL;


ALTER TABLE appstore.console_sessions DISABLE TRIGGER ALL;

INSERT INTO appstore.console_sessions (session_id, session_hash, person, role, shows_bodies, began_at, expires_at, ended_at, ended_by) OVERRIDING SYSTEM VALUE VALUES (1, '\x3f3af1ecebbd1410ab417ec0d27bbfcb5d340e177ae159b59fc8626c2dfd9175', 'ann', 'operator', true, '2026-11-29 06:15:04.421381+00', '2026-11-29 07:15:04.421381+00', NULL, NULL);


ALTER TABLE appstore.console_sessions ENABLE TRIGGER ALL;


ALTER TABLE appstore.consumption_counted DISABLE TRIGGER ALL;

INSERT INTO appstore.consumption_counted (environment, transaction_id, due_at, is_missed) VALUES ('Production', '1', '2026-11-29 06:15:04.421381+00', false);


ALTER TABLE appstore.consumption_counted ENABLE TRIGGER ALL;


ALTER TABLE appstore.consumption_decisions DISABLE TRIGGER ALL;

INSERT INTO appstore.consumption_decisions (decision_id, environment, transaction_id, decided_at, decided_by, origin, user_id, answer, call_id, result, reason, settled_at) OVERRIDING SYSTEM VALUE VALUES (1, 'Production', '1', '2026-01-02 00:00:00+00', 'by_test', 'decision', 'user 1', '(f,,,,,x,)', NULL, NULL, NULL, NULL);
INSERT INTO appstore.consumption_decisions (decision_id, environment, transaction_id, decided_at, decided_by, origin, user_id, answer, call_id, result, reason, settled_at) OVERRIDING SYSTEM VALUE VALUES (2, 'Production', '2', '2026-01-02 00:00:00+00', 'by_test', 'decision', 'user 2', '(f,,,,,x,)', NULL, NULL, NULL, NULL);
INSERT INTO appstore.consumption_decisions (decision_id, environment, transaction_id, decided_at, decided_by, origin, user_id, answer, call_id, result, reason, settled_at) OVERRIDING SYSTEM VALUE VALUES (3, 'Production', '3', '2026-01-02 00:00:00+00', 'by_test', 'decision', 'user 3', '(f,,,,,x,)', NULL, NULL, NULL, NULL);
INSERT INTO appstore.consumption_decisions (decision_id, environment, transaction_id, decided_at, decided_by, origin, user_id, answer, call_id, result, reason, settled_at) OVERRIDING SYSTEM VALUE VALUES (4, 'Production', '1', '2026-01-02 00:00:00+00', 'by_test', 'decision', 'user 1', '(f,,,,,x,)', NULL, NULL, NULL, NULL);
INSERT INTO appstore.consumption_decisions (decision_id, environment, transaction_id, decided_at, decided_by, origin, user_id, answer, call_id, result, reason, settled_at) OVERRIDING SYSTEM VALUE VALUES (5, 'Production', '2', '2026-01-02 00:00:00+00', 'by_test', 'decision', 'user 2', '(f,,,,,x,)', NULL, NULL, NULL, NULL);
INSERT INTO appstore.consumption_decisions (decision_id, environment, transaction_id, decided_at, decided_by, origin, user_id, answer, call_id, result, reason, settled_at) OVERRIDING SYSTEM VALUE VALUES (6, 'Production', '3', '2026-01-02 00:00:00+00', 'by_test', 'decision', 'user 3', '(f,,,,,x,)', NULL, NULL, NULL, NULL);


ALTER TABLE appstore.consumption_decisions ENABLE TRIGGER ALL;


ALTER TABLE appstore.consumption_obligations DISABLE TRIGGER ALL;

INSERT INTO appstore.consumption_obligations (environment, transaction_id, original_transaction_id, asked_at, due_at, reason, is_advanced_commerce, outcome, outcome_at) VALUES ('Production', '1', '1', '2026-11-29 05:15:04.421381+00', '2026-11-29 17:15:04.422381+00', NULL, false, NULL, NULL);
INSERT INTO appstore.consumption_obligations (environment, transaction_id, original_transaction_id, asked_at, due_at, reason, is_advanced_commerce, outcome, outcome_at) VALUES ('Production', '2', '2', '2026-11-29 05:15:04.421381+00', '2026-11-29 17:15:04.423381+00', NULL, false, NULL, NULL);
INSERT INTO appstore.consumption_obligations (environment, transaction_id, original_transaction_id, asked_at, due_at, reason, is_advanced_commerce, outcome, outcome_at) VALUES ('Production', '3', '3', '2026-11-29 05:15:04.421381+00', '2026-11-29 17:15:04.424381+00', NULL, false, NULL, NULL);


ALTER TABLE appstore.consumption_obligations ENABLE TRIGGER ALL;


ALTER TABLE appstore.consumption_policies DISABLE TRIGGER ALL;

INSERT INTO appstore.consumption_policies (policy_id, bundle_id, product_id, mode, delivery, sample, percentage, preference) OVERRIDING SYSTEM VALUE VALUES (1, 'b', NULL, 'backend', NULL, NULL, NULL, NULL);
INSERT INTO appstore.consumption_policies (policy_id, bundle_id, product_id, mode, delivery, sample, percentage, preference) OVERRIDING SYSTEM VALUE VALUES (2, 'com.example.app', NULL, 'backend', NULL, NULL, NULL, NULL);


ALTER TABLE appstore.consumption_policies ENABLE TRIGGER ALL;


ALTER TABLE appstore.contracts DISABLE TRIGGER ALL;

INSERT INTO appstore.contracts (environment, original_transaction_id, renewal_status, renewal_product_id, auto_renew_product_id, auto_renew_status, expiration_intent, is_in_billing_retry_period, price_increase_status, grace_period_expires_date, renewal_date, renewal_price, renewal_currency, renewal_offer_type, renewal_offer_identifier, renewal_offer_discount_type, renewal_offer_period, eligible_win_back_offer_ids, recent_subscription_start_date, renewal_app_account_token, renewal_app_transaction_id, renewal_billing_plan_type, renewal_signed_date, renewal_hash, user_id, owner_since, is_contested, bundle_id, product_id, product_type, status, will_renew, started_at, current_transaction_id, current_period_start, current_period_end, revoked_at, access_until, is_unowned, renewal_quantity, renewal_commitment_info, seats_bought, seats_added, seats_revoked, commitment_until, commitment_payments_left, commitment_will_renew, migrated_from, migrated_to) VALUES ('Production', '3', 1, NULL, NULL, 1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '2026-01-01 00:00:00+00', '\x01', 'user 3', '2026-01-02 00:00:00+00', true, 'b', 'p', 'Auto-Renewable Subscription', 1, true, '2026-01-02 00:00:00+00', '3', '2026-01-02 00:00:00+00', '2026-02-01 00:00:00+00', NULL, '2026-02-01 00:00:00+00', false, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO appstore.contracts (environment, original_transaction_id, renewal_status, renewal_product_id, auto_renew_product_id, auto_renew_status, expiration_intent, is_in_billing_retry_period, price_increase_status, grace_period_expires_date, renewal_date, renewal_price, renewal_currency, renewal_offer_type, renewal_offer_identifier, renewal_offer_discount_type, renewal_offer_period, eligible_win_back_offer_ids, recent_subscription_start_date, renewal_app_account_token, renewal_app_transaction_id, renewal_billing_plan_type, renewal_signed_date, renewal_hash, user_id, owner_since, is_contested, bundle_id, product_id, product_type, status, will_renew, started_at, current_transaction_id, current_period_start, current_period_end, revoked_at, access_until, is_unowned, renewal_quantity, renewal_commitment_info, seats_bought, seats_added, seats_revoked, commitment_until, commitment_payments_left, commitment_will_renew, migrated_from, migrated_to) VALUES ('Production', '2', 1, NULL, NULL, 1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '2026-01-01 00:00:00+00', '\x01', 'user 2', '2026-01-02 00:00:00+00', true, 'b', 'p', 'Auto-Renewable Subscription', 1, true, '2026-01-02 00:00:00+00', '2', '2026-01-02 00:00:00+00', '2026-02-01 00:00:00+00', NULL, '2026-02-01 00:00:00+00', false, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO appstore.contracts (environment, original_transaction_id, renewal_status, renewal_product_id, auto_renew_product_id, auto_renew_status, expiration_intent, is_in_billing_retry_period, price_increase_status, grace_period_expires_date, renewal_date, renewal_price, renewal_currency, renewal_offer_type, renewal_offer_identifier, renewal_offer_discount_type, renewal_offer_period, eligible_win_back_offer_ids, recent_subscription_start_date, renewal_app_account_token, renewal_app_transaction_id, renewal_billing_plan_type, renewal_signed_date, renewal_hash, user_id, owner_since, is_contested, bundle_id, product_id, product_type, status, will_renew, started_at, current_transaction_id, current_period_start, current_period_end, revoked_at, access_until, is_unowned, renewal_quantity, renewal_commitment_info, seats_bought, seats_added, seats_revoked, commitment_until, commitment_payments_left, commitment_will_renew, migrated_from, migrated_to) VALUES ('Production', '1', 1, NULL, NULL, 1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '2026-01-01 00:00:00+00', '\x01', 'user 1', '2026-01-02 00:00:00+00', true, 'b', 'p', 'Auto-Renewable Subscription', 1, true, '2026-01-02 00:00:00+00', '1', '2026-01-02 00:00:00+00', '2026-02-01 00:00:00+00', NULL, '2026-02-01 00:00:00+00', false, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);


ALTER TABLE appstore.contracts ENABLE TRIGGER ALL;


ALTER TABLE appstore.customer_revisions DISABLE TRIGGER ALL;

INSERT INTO appstore.customer_revisions (environment, original_transaction_id, revision) VALUES ('Production', '1', 'r');
INSERT INTO appstore.customer_revisions (environment, original_transaction_id, revision) VALUES ('Production', '2', 'r');
INSERT INTO appstore.customer_revisions (environment, original_transaction_id, revision) VALUES ('Production', '3', 'r');


ALTER TABLE appstore.customer_revisions ENABLE TRIGGER ALL;


ALTER TABLE appstore.delivery_attempts DISABLE TRIGGER ALL;

INSERT INTO appstore.delivery_attempts (attempt_id, endpoint, "position", subject, at, is_redelivery, result, status, milliseconds, answer_bytes, answer, error) OVERRIDING SYSTEM VALUE VALUES (1, 'e1', 1, '1', '2026-11-27 06:15:04.421381+00', false, 'delivered', NULL, NULL, NULL, NULL, NULL);
INSERT INTO appstore.delivery_attempts (attempt_id, endpoint, "position", subject, at, is_redelivery, result, status, milliseconds, answer_bytes, answer, error) OVERRIDING SYSTEM VALUE VALUES (2, 'e1', 2, '2', '2026-11-27 06:15:04.421381+00', false, 'failed', NULL, NULL, NULL, 'no', NULL);
INSERT INTO appstore.delivery_attempts (attempt_id, endpoint, "position", subject, at, is_redelivery, result, status, milliseconds, answer_bytes, answer, error) OVERRIDING SYSTEM VALUE VALUES (3, 'e1', 3, '3', '2026-11-27 06:15:04.421381+00', false, 'delivered', NULL, NULL, NULL, NULL, NULL);


ALTER TABLE appstore.delivery_attempts ENABLE TRIGGER ALL;


ALTER TABLE appstore.effect_log DISABLE TRIGGER ALL;

INSERT INTO appstore.effect_log (effect_id, environment, kind, subject, event_id, occurred_at, recorded_at, original_transaction_id, transaction_id, product_id, order_no, user_id, vouched_bundle_id, grace_period_expires_date, restated_date, bundle_id, details) VALUES ('1a8a99fd-f1a5-4cdf-b4be-9fde424a2f21', 'Production', 'granted', '1', 1, '2026-01-02 00:00:00+00', '2026-01-02 00:00:01+00', '1', '1', NULL, NULL, 'user 1', NULL, NULL, NULL, NULL, NULL);
INSERT INTO appstore.effect_log (effect_id, environment, kind, subject, event_id, occurred_at, recorded_at, original_transaction_id, transaction_id, product_id, order_no, user_id, vouched_bundle_id, grace_period_expires_date, restated_date, bundle_id, details) VALUES ('f9bccb71-c6cb-41b5-aa3b-de63a31b3d8d', 'Production', 'granted', '2', 2, '2026-01-02 00:00:00+00', '2026-01-02 00:00:02+00', '2', '2', NULL, NULL, 'user 2', NULL, NULL, NULL, NULL, NULL);
INSERT INTO appstore.effect_log (effect_id, environment, kind, subject, event_id, occurred_at, recorded_at, original_transaction_id, transaction_id, product_id, order_no, user_id, vouched_bundle_id, grace_period_expires_date, restated_date, bundle_id, details) VALUES ('ab98a180-3130-4054-af98-125448fc1da2', 'Production', 'granted', '3', 3, '2026-01-02 00:00:00+00', '2026-01-02 00:00:03+00', '3', '3', NULL, NULL, 'user 3', NULL, NULL, NULL, NULL, NULL);


ALTER TABLE appstore.effect_log ENABLE TRIGGER ALL;


ALTER TABLE appstore.endpoints DISABLE TRIGGER ALL;

INSERT INTO appstore.endpoints (name, endpoint_id, url, format, types, bundle_ids, environments, with_wrong_bundle, keeps_order, max_in_flight, max_per_second, timeout_seconds, state, why, state_since, "position", open_upto, due_from, secret_generation, rotated_at, created_at, epoch, leased_until, failures, failing_since, open_until, probes, succeeded_at, last_error) VALUES ('e1', 'd36ea72b-63a2-4be7-8b51-ddaf5787b4b5', 'https://example.com', 'event', NULL, NULL, NULL, false, true, 8, NULL, 15, 'enabled', NULL, '2026-11-29 06:15:04.819604+00', 0, 0, '-infinity', 1, NULL, '2026-11-29 06:15:04.819604+00', 1795932904819604, NULL, 0, NULL, NULL, 0, NULL, NULL);
INSERT INTO appstore.endpoints (name, endpoint_id, url, format, types, bundle_ids, environments, with_wrong_bundle, keeps_order, max_in_flight, max_per_second, timeout_seconds, state, why, state_since, "position", open_upto, due_from, secret_generation, rotated_at, created_at, epoch, leased_until, failures, failing_since, open_until, probes, succeeded_at, last_error) VALUES ('e2', 'b45b0241-38e5-4e7f-9734-99bfb5c06600', 'https://example.com', 'event', NULL, NULL, NULL, false, true, 8, NULL, 15, 'enabled', NULL, '2026-11-29 06:15:04.819959+00', 0, 0, '-infinity', 1, NULL, '2026-11-29 06:15:04.81996+00', 1795932904819960, NULL, 0, NULL, NULL, 0, NULL, NULL);
INSERT INTO appstore.endpoints (name, endpoint_id, url, format, types, bundle_ids, environments, with_wrong_bundle, keeps_order, max_in_flight, max_per_second, timeout_seconds, state, why, state_since, "position", open_upto, due_from, secret_generation, rotated_at, created_at, epoch, leased_until, failures, failing_since, open_until, probes, succeeded_at, last_error) VALUES ('e3', '38726658-fdc7-4869-8a02-9ad0fef93a50', 'https://example.com', 'event', NULL, NULL, NULL, false, true, 8, NULL, 15, 'enabled', NULL, '2026-11-29 06:15:04.819975+00', 0, 0, '-infinity', 1, NULL, '2026-11-29 06:15:04.819975+00', 1795932904819975, NULL, 0, NULL, NULL, 0, NULL, NULL);


ALTER TABLE appstore.endpoints ENABLE TRIGGER ALL;


ALTER TABLE appstore.event_contracts DISABLE TRIGGER ALL;

INSERT INTO appstore.event_contracts (environment, original_transaction_id, event_id) VALUES ('Production', '1', 1);
INSERT INTO appstore.event_contracts (environment, original_transaction_id, event_id) VALUES ('Production', '2', 2);
INSERT INTO appstore.event_contracts (environment, original_transaction_id, event_id) VALUES ('Production', '3', 3);


ALTER TABLE appstore.event_contracts ENABLE TRIGGER ALL;


ALTER TABLE appstore.external_purchase_tokens DISABLE TRIGGER ALL;

INSERT INTO appstore.external_purchase_tokens (environment, external_purchase_id, bundle_id, app_apple_id, token_type, token_creation_date, token_expiration_date, subtype, signed_date, payload_hash, last_event_id, known, first_signed_date, first_event_id, reported_at, reported_by) VALUES ('Production', 'token 1', 'b 1', 1, 'SERVICES', '2026-01-01 00:00:00+00', '2027-01-01 00:00:00+00', 'UNREPORTED', '2026-01-02 00:00:00+00', '\x01', 1, NULL, '2026-01-01 00:00:00+00', 1, NULL, NULL);
INSERT INTO appstore.external_purchase_tokens (environment, external_purchase_id, bundle_id, app_apple_id, token_type, token_creation_date, token_expiration_date, subtype, signed_date, payload_hash, last_event_id, known, first_signed_date, first_event_id, reported_at, reported_by) VALUES ('Sandbox', 'SANDBOX token 2', 'b 1', NULL, NULL, '2026-01-01 00:00:00+00', NULL, 'CREATED', '2026-01-01 00:00:00+00', '\x02', 2, NULL, '2026-01-01 00:00:00+00', 2, '2026-01-02 00:00:00+00', 'operator');


ALTER TABLE appstore.external_purchase_tokens ENABLE TRIGGER ALL;


ALTER TABLE appstore.feed_consumers DISABLE TRIGGER ALL;

INSERT INTO appstore.feed_consumers (name, "position", moved_at) VALUES ('backend', 1, '2026-11-29 06:15:04.421381+00');


ALTER TABLE appstore.feed_consumers ENABLE TRIGGER ALL;


-- load via partition root appstore.feed

ALTER TABLE appstore.feed_from_1 DISABLE TRIGGER ALL;

INSERT INTO appstore.feed ("position", id, type, environment, bundle_id, subject, user_id, from_user_id, occurred_at, told_at, data) VALUES (1, '70805f8c-a8df-4931-8be1-25b5d65ea9c5', 'effect.granted', 'Production', 'b', '1', NULL, NULL, '2026-11-29 06:15:04.421381+00', '2026-11-29 06:15:04.421381+00', '{}');
INSERT INTO appstore.feed ("position", id, type, environment, bundle_id, subject, user_id, from_user_id, occurred_at, told_at, data) VALUES (2, 'f395665d-89a4-4eb8-9030-2dc71a483501', 'effect.granted', 'Production', 'b', '2', NULL, NULL, '2026-11-29 06:15:04.421381+00', '2026-11-29 06:15:04.421381+00', '{}');
INSERT INTO appstore.feed ("position", id, type, environment, bundle_id, subject, user_id, from_user_id, occurred_at, told_at, data) VALUES (3, '695df62c-e87d-4639-a492-6cf100927789', 'effect.granted', 'Production', 'b', '3', NULL, NULL, '2026-11-29 06:15:04.421381+00', '2026-11-29 06:15:04.421381+00', '{}');
INSERT INTO appstore.feed ("position", id, type, environment, bundle_id, subject, user_id, from_user_id, occurred_at, told_at, data) VALUES (4, 'e3bf9117-3b2e-465b-bcc1-10e50871ef17', 'access.changed', 'Production', 'b', '1', 'user 1', NULL, '2026-11-29 06:15:04.421381+00', '2026-01-02 00:00:01+00', '{}');
INSERT INTO appstore.feed ("position", id, type, environment, bundle_id, subject, user_id, from_user_id, occurred_at, told_at, data) VALUES (5, '4bb9bf6a-2d31-4f6f-90af-e8807b5b8d02', 'access.changed', 'Production', 'b', '2', 'user 2', NULL, '2026-11-29 06:15:04.421381+00', '2026-01-02 00:00:02+00', '{}');
INSERT INTO appstore.feed ("position", id, type, environment, bundle_id, subject, user_id, from_user_id, occurred_at, told_at, data) VALUES (6, 'f55297db-c35b-4cfe-88b7-d903f81e4c5e', 'access.changed', 'Production', 'b', '3', 'user 3', NULL, '2026-11-29 06:15:04.421381+00', '2026-01-02 00:00:03+00', '{}');


ALTER TABLE appstore.feed_from_1 ENABLE TRIGGER ALL;


ALTER TABLE appstore.feed_generations DISABLE TRIGGER ALL;

INSERT INTO appstore.feed_generations (generation, from_position, began_at, is_complete) VALUES (1, 1, '2026-11-29 06:15:04.421381+00', true);


ALTER TABLE appstore.feed_generations ENABLE TRIGGER ALL;


ALTER TABLE appstore.forgotten_users DISABLE TRIGGER ALL;

INSERT INTO appstore.forgotten_users (alias, forgotten_at) VALUES ('forgotten:00000000-0000-4000-9000-000000000002', '2026-01-02 00:00:00+00');


ALTER TABLE appstore.forgotten_users ENABLE TRIGGER ALL;


ALTER TABLE appstore.fx_rates DISABLE TRIGGER ALL;

INSERT INTO appstore.fx_rates (currency, day, per_unit) VALUES ('EUR', '2026-01-01', 1.25);


ALTER TABLE appstore.fx_rates ENABLE TRIGGER ALL;


ALTER TABLE appstore.history_counts DISABLE TRIGGER ALL;

INSERT INTO appstore.history_counts (bundle_id, environment, mode, class, records) VALUES ('b', 'Production', 'walk', 'recovered', 3);


ALTER TABLE appstore.history_counts ENABLE TRIGGER ALL;


ALTER TABLE appstore.history_cursors DISABLE TRIGGER ALL;

INSERT INTO appstore.history_cursors (bundle_id, environment, mode, walks_since, since, anchor, near_until, second_until, overlap, edge, covered) VALUES ('b', 'Production', 'walk', '2026-11-29 06:15:04.836035+00', '2026-11-29 06:15:04.421381+00', '2026-11-29 06:15:04.421381+00', '2026-11-29 06:15:04.421381+00', '2026-11-29 06:15:04.421381+00', '01:00:00', NULL, '{["2026-01-01 00:00:00+00","2026-01-02 00:00:00+00")}');


ALTER TABLE appstore.history_cursors ENABLE TRIGGER ALL;


ALTER TABLE appstore.history_records DISABLE TRIGGER ALL;

INSERT INTO appstore.history_records (environment, notification_uuid, bundle_id, class, is_open, mode, event_id, window_id, listed_at, signed_at, first_attempt_at, last_attempt_at, attempts, last_result) VALUES ('Production', 'bec3ecc0-dfd1-46a7-a85e-173ec4a568bb', 'b', 'recovered', false, 'walk', 1, 1, '2026-11-28 06:15:04.421381+00', NULL, NULL, NULL, 1, NULL);
INSERT INTO appstore.history_records (environment, notification_uuid, bundle_id, class, is_open, mode, event_id, window_id, listed_at, signed_at, first_attempt_at, last_attempt_at, attempts, last_result) VALUES ('Production', 'f538e4a0-421b-44c1-846b-acc492470e9a', 'b', 'recovered', true, 'walk', 2, 1, '2026-11-28 06:15:04.421381+00', NULL, NULL, NULL, 1, NULL);
INSERT INTO appstore.history_records (environment, notification_uuid, bundle_id, class, is_open, mode, event_id, window_id, listed_at, signed_at, first_attempt_at, last_attempt_at, attempts, last_result) VALUES ('Production', '1b6e2786-3d5c-43f0-a9a1-b6d2f7921a0d', 'b', 'recovered', false, 'walk', 3, 1, '2026-11-28 06:15:04.421381+00', NULL, NULL, NULL, 1, NULL);


ALTER TABLE appstore.history_records ENABLE TRIGGER ALL;


ALTER TABLE appstore.history_windows DISABLE TRIGGER ALL;

INSERT INTO appstore.history_windows (window_id, bundle_id, environment, kind, starts_at, ends_at, made_at, state, run_at, is_leased, epoch, token, is_read, pages, listed, stored, restarts, failures, failing_since, last_error, compared_to, compared_event, first_signed_at, last_signed_at, first_attempt_at, last_attempt_at, closed_at) OVERRIDING SYSTEM VALUE VALUES (1, 'b', 'Production', 'near', '2026-01-01 00:00:00+00', '2026-01-02 00:00:00+00', '2026-11-29 06:15:04.836237+00', 'open', '2026-11-29 06:15:04.836237+00', false, 0, NULL, false, 0, 0, 0, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);


ALTER TABLE appstore.history_windows ENABLE TRIGGER ALL;


ALTER TABLE appstore.import_chunks DISABLE TRIGGER ALL;

INSERT INTO appstore.import_chunks (import_id, first_line, end_line, phase, environment, run_at, is_leased, epoch, failures, last_error, silent_since, link_at, waiting, found, covered, unknown, failed, reported_at) VALUES (1, 1, 4, 'ask', 'Production', '2026-11-29 06:15:04.836502+00', false, 0, 0, NULL, NULL, NULL, 0, 0, 0, 0, 0, '2026-11-29 06:15:04.836502+00');


ALTER TABLE appstore.import_chunks ENABLE TRIGGER ALL;


ALTER TABLE appstore.import_items DISABLE TRIGGER ALL;

INSERT INTO appstore.import_items (import_id, line, environment, state, event_id, last_event_id, asked, failures, is_given, id, user_id, revision, reason) VALUES (1, 1, 'Production', 'open', NULL, NULL, 0, 0, false, '1', 'user 1', NULL, NULL);
INSERT INTO appstore.import_items (import_id, line, environment, state, event_id, last_event_id, asked, failures, is_given, id, user_id, revision, reason) VALUES (1, 2, 'Production', 'open', NULL, NULL, 0, 0, false, '2', 'user 2', NULL, NULL);
INSERT INTO appstore.import_items (import_id, line, environment, state, event_id, last_event_id, asked, failures, is_given, id, user_id, revision, reason) VALUES (1, 3, 'Production', 'open', NULL, NULL, 0, 0, false, '3', 'user 3', NULL, NULL);


ALTER TABLE appstore.import_items ENABLE TRIGGER ALL;


ALTER TABLE appstore.import_links_due DISABLE TRIGGER ALL;

INSERT INTO appstore.import_links_due (import_id, first_line, line) VALUES (1, 1, 2);


ALTER TABLE appstore.import_links_due ENABLE TRIGGER ALL;


ALTER TABLE appstore.import_rates DISABLE TRIGGER ALL;

INSERT INTO appstore.import_rates (import_id, at, settled) VALUES (1, '2026-11-29 06:15:04.421381+00', 3);


ALTER TABLE appstore.import_rates ENABLE TRIGGER ALL;


ALTER TABLE appstore.import_tokens DISABLE TRIGGER ALL;

INSERT INTO appstore.import_tokens (import_id, line, id, user_id, token, error) VALUES (1, 1, '1', 'user 1', '00000000-0000-4000-9000-000000000003', NULL);


ALTER TABLE appstore.import_tokens ENABLE TRIGGER ALL;


ALTER TABLE appstore.imports DISABLE TRIGGER ALL;

INSERT INTO appstore.imports (import_id, bundle_id, environment, depth, file_name, file_sha256, state, made_by, made_at, touched_at, ended_at, items, last_line, next_line, repeated, bad_lines, found, covered, unknown, failed) OVERRIDING SYSTEM VALUE VALUES (1, 'b', NULL, 'history', 'f', '\x252f10c83610ebca1a059c0bae8255eba2f95be4d1d7bcfa89d7248a82d9f111', 'running', 'by_test', '2026-11-29 06:15:04.820395+00', '2026-11-29 06:15:04.820396+00', NULL, 0, 1000000, 1000001, 0, 0, 0, 0, 0, 0);


ALTER TABLE appstore.imports ENABLE TRIGGER ALL;


-- load via partition root appstore.inbox

ALTER TABLE appstore.inbox_default DISABLE TRIGGER ALL;



ALTER TABLE appstore.inbox_default ENABLE TRIGGER ALL;


-- load via partition root appstore.inbox

ALTER TABLE appstore.inbox_first DISABLE TRIGGER ALL;

INSERT INTO appstore.inbox (event_id, source, received_at, body) VALUES (1, 'client_transaction', '2026-08-31 06:15:04.421381+00', '\x7b2275736572223a2022757365722031227d');
INSERT INTO appstore.inbox (event_id, source, received_at, body) VALUES (2, 'client_transaction', '2026-08-31 06:15:04.421381+00', '\x7b2275736572223a2022757365722032227d');
INSERT INTO appstore.inbox (event_id, source, received_at, body) VALUES (3, 'client_transaction', '2026-08-31 06:15:04.421381+00', '\x7b2275736572223a2022757365722033227d');


ALTER TABLE appstore.inbox_first ENABLE TRIGGER ALL;


ALTER TABLE appstore.inbox_queue DISABLE TRIGGER ALL;

INSERT INTO appstore.inbox_queue (event_id, run_at, attempts, bytes, is_isolated, last_error, deaths, run, blocked_since) VALUES (2000000001, '2026-11-30 06:15:04.421381+00', 1, 20, false, NULL, 0, 1, NULL);
INSERT INTO appstore.inbox_queue (event_id, run_at, attempts, bytes, is_isolated, last_error, deaths, run, blocked_since) VALUES (2000000002, '2026-11-30 06:15:04.421381+00', 1, 20, false, NULL, 0, 1, NULL);
INSERT INTO appstore.inbox_queue (event_id, run_at, attempts, bytes, is_isolated, last_error, deaths, run, blocked_since) VALUES (2000000003, '2026-11-30 06:15:04.421381+00', 1, 20, false, NULL, 0, 1, NULL);
INSERT INTO appstore.inbox_queue (event_id, run_at, attempts, bytes, is_isolated, last_error, deaths, run, blocked_since) VALUES (4000000001, '2026-11-30 06:15:04.421381+00', 1, 20, false, NULL, 0, 1, NULL);
INSERT INTO appstore.inbox_queue (event_id, run_at, attempts, bytes, is_isolated, last_error, deaths, run, blocked_since) VALUES (4000000002, '2026-11-30 06:15:04.421381+00', 1, 20, false, NULL, 0, 1, NULL);
INSERT INTO appstore.inbox_queue (event_id, run_at, attempts, bytes, is_isolated, last_error, deaths, run, blocked_since) VALUES (4000000003, '2026-11-30 06:15:04.421381+00', 1, 20, false, NULL, 0, 1, NULL);


ALTER TABLE appstore.inbox_queue ENABLE TRIGGER ALL;


-- load via partition root appstore.inbox

ALTER TABLE appstore.inbox_rest DISABLE TRIGGER ALL;

INSERT INTO appstore.inbox (event_id, source, received_at, body) VALUES (2000000001, 'notification_v2', '2026-08-31 06:15:04.421381+00', '\x7b2275736572223a2022757365722031227d');
INSERT INTO appstore.inbox (event_id, source, received_at, body) VALUES (4000000001, 'notification_v2', '2026-08-31 06:15:04.421381+00', '\x7b2275736572223a2022757365722031227d');
INSERT INTO appstore.inbox (event_id, source, received_at, body) VALUES (2000000002, 'notification_v2', '2026-08-31 06:15:04.421381+00', '\x7b2275736572223a2022757365722032227d');
INSERT INTO appstore.inbox (event_id, source, received_at, body) VALUES (4000000002, 'notification_v2', '2026-08-31 06:15:04.421381+00', '\x7b2275736572223a2022757365722032227d');
INSERT INTO appstore.inbox (event_id, source, received_at, body) VALUES (2000000003, 'notification_v2', '2026-08-31 06:15:04.421381+00', '\x7b2275736572223a2022757365722033227d');
INSERT INTO appstore.inbox (event_id, source, received_at, body) VALUES (4000000003, 'notification_v2', '2026-08-31 06:15:04.421381+00', '\x7b2275736572223a2022757365722033227d');
INSERT INTO appstore.inbox (event_id, source, received_at, body) VALUES (1000000001, 'notification_v2', '2026-08-31 06:15:04.421381+00', '\x01');
INSERT INTO appstore.inbox (event_id, source, received_at, body) VALUES (1000000002, 'notification_v2', '2026-08-31 06:15:04.421381+00', '\x01');
INSERT INTO appstore.inbox (event_id, source, received_at, body) VALUES (1000000003, 'notification_v2', '2026-08-31 06:15:04.421381+00', '\x01');


ALTER TABLE appstore.inbox_rest ENABLE TRIGGER ALL;


ALTER TABLE appstore.live_since DISABLE TRIGGER ALL;

INSERT INTO appstore.live_since (bundle_id, since, set_by, set_at) VALUES ('b', '2026-01-01 00:00:00+00', 'by_test', '2026-11-29 06:15:04.83697+00');


ALTER TABLE appstore.live_since ENABLE TRIGGER ALL;


ALTER TABLE appstore.maintenance_state DISABLE TRIGGER ALL;

INSERT INTO appstore.maintenance_state (task, started_at, settled_at, event_id, kept, not_before) VALUES ('partitions', '2026-11-29 06:15:04.838692+00', '-infinity', 0, '{}', '-infinity');


ALTER TABLE appstore.maintenance_state ENABLE TRIGGER ALL;


ALTER TABLE appstore.open_deliveries DISABLE TRIGGER ALL;

INSERT INTO appstore.open_deliveries (endpoint, "position", subject, run_at, attempts, first_failed_at, last_status, last_error, given_up_at) VALUES ('e1', 1, '1', '2026-11-30 06:15:04.421381+00', 1, '2026-11-29 06:15:04.421381+00', NULL, NULL, NULL);
INSERT INTO appstore.open_deliveries (endpoint, "position", subject, run_at, attempts, first_failed_at, last_status, last_error, given_up_at) VALUES ('e1', 2, '2', 'infinity', 0, NULL, NULL, NULL, NULL);
INSERT INTO appstore.open_deliveries (endpoint, "position", subject, run_at, attempts, first_failed_at, last_status, last_error, given_up_at) VALUES ('e1', 3, '3', '2026-11-30 06:15:04.421381+00', 1, '2026-11-29 06:15:04.421381+00', NULL, NULL, NULL);


ALTER TABLE appstore.open_deliveries ENABLE TRIGGER ALL;


ALTER TABLE appstore.outbox DISABLE TRIGGER ALL;

INSERT INTO appstore.outbox (call_id, kind, call_key, bundle_id, environment, priority, event_id, asked_by, payload, asked_at, deadline_at, run_at, is_leased, epoch, attempts, last_reason, waits_for, repeats, state, reason, settled_at, answer, answer_event_id, answer_event_ids, fallback_source, fallback_event_id) OVERRIDING SYSTEM VALUE VALUES (1, 'verify_receipt', '1 1', 'b', 'Production', 1, 1, '{}', NULL, '2026-11-29 06:15:04.825959+00', '2026-11-30 06:15:04.421381+00', '2026-11-29 07:15:04.421381+00', false, 0, 0, NULL, NULL, 0, 'open', NULL, NULL, NULL, NULL, '{}', NULL, NULL);
INSERT INTO appstore.outbox (call_id, kind, call_key, bundle_id, environment, priority, event_id, asked_by, payload, asked_at, deadline_at, run_at, is_leased, epoch, attempts, last_reason, waits_for, repeats, state, reason, settled_at, answer, answer_event_id, answer_event_ids, fallback_source, fallback_event_id) OVERRIDING SYSTEM VALUE VALUES (2, 'verify_receipt', '1 2', 'b', 'Production', 1, 2, '{}', NULL, '2026-11-29 06:15:04.826323+00', '2026-11-30 06:15:04.421381+00', '2026-11-29 07:15:04.421381+00', false, 0, 0, NULL, NULL, 0, 'open', NULL, NULL, NULL, NULL, '{}', NULL, NULL);
INSERT INTO appstore.outbox (call_id, kind, call_key, bundle_id, environment, priority, event_id, asked_by, payload, asked_at, deadline_at, run_at, is_leased, epoch, attempts, last_reason, waits_for, repeats, state, reason, settled_at, answer, answer_event_id, answer_event_ids, fallback_source, fallback_event_id) OVERRIDING SYSTEM VALUE VALUES (3, 'verify_receipt', '1 3', 'b', 'Production', 1, 3, '{}', NULL, '2026-11-29 06:15:04.826364+00', '2026-11-30 06:15:04.421381+00', '2026-11-29 07:15:04.421381+00', false, 0, 0, NULL, NULL, 0, 'open', NULL, NULL, NULL, NULL, '{}', NULL, NULL);
INSERT INTO appstore.outbox (call_id, kind, call_key, bundle_id, environment, priority, event_id, asked_by, payload, asked_at, deadline_at, run_at, is_leased, epoch, attempts, last_reason, waits_for, repeats, state, reason, settled_at, answer, answer_event_id, answer_event_ids, fallback_source, fallback_event_id) OVERRIDING SYSTEM VALUE VALUES (4, 'verify_receipt', '2 1', 'b', 'Production', 1, 1, '{}', NULL, '2026-11-29 06:15:04.826378+00', '2026-11-30 06:15:04.421381+00', '2026-11-29 07:15:04.421381+00', false, 0, 0, NULL, NULL, 0, 'answered', NULL, '2026-11-29 06:15:04.421381+00', NULL, NULL, '{}', NULL, NULL);
INSERT INTO appstore.outbox (call_id, kind, call_key, bundle_id, environment, priority, event_id, asked_by, payload, asked_at, deadline_at, run_at, is_leased, epoch, attempts, last_reason, waits_for, repeats, state, reason, settled_at, answer, answer_event_id, answer_event_ids, fallback_source, fallback_event_id) OVERRIDING SYSTEM VALUE VALUES (5, 'verify_receipt', '2 2', 'b', 'Production', 1, 2, '{}', NULL, '2026-11-29 06:15:04.826427+00', '2026-11-30 06:15:04.421381+00', '2026-11-29 07:15:04.421381+00', false, 0, 0, NULL, NULL, 0, 'answered', NULL, '2026-11-29 06:15:04.421381+00', NULL, NULL, '{}', NULL, NULL);
INSERT INTO appstore.outbox (call_id, kind, call_key, bundle_id, environment, priority, event_id, asked_by, payload, asked_at, deadline_at, run_at, is_leased, epoch, attempts, last_reason, waits_for, repeats, state, reason, settled_at, answer, answer_event_id, answer_event_ids, fallback_source, fallback_event_id) OVERRIDING SYSTEM VALUE VALUES (6, 'verify_receipt', '2 3', 'b', 'Production', 1, 3, '{}', NULL, '2026-11-29 06:15:04.826441+00', '2026-11-30 06:15:04.421381+00', '2026-11-29 07:15:04.421381+00', false, 0, 0, NULL, NULL, 0, 'answered', NULL, '2026-11-29 06:15:04.421381+00', NULL, NULL, '{}', NULL, NULL);


ALTER TABLE appstore.outbox ENABLE TRIGGER ALL;


ALTER TABLE appstore.outcome_history DISABLE TRIGGER ALL;

INSERT INTO appstore.outcome_history (replaced_at, replaced_by, event_id, source, received_at, settled_at, run, attempts, result, reason, last_error, notification_type, subtype, notification_uuid, environment, bundle_id, transaction_id, original_transaction_id, odd_members) VALUES ('2026-08-31 06:15:04.421381+00', 'by_test', 1, 'client_transaction', '2026-08-31 06:15:04.421381+00', '2026-08-31 06:15:05.421381+00', 1, 1, 'failed', 'by_test', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO appstore.outcome_history (replaced_at, replaced_by, event_id, source, received_at, settled_at, run, attempts, result, reason, last_error, notification_type, subtype, notification_uuid, environment, bundle_id, transaction_id, original_transaction_id, odd_members) VALUES ('2026-08-31 06:15:04.421381+00', 'by_test', 2, 'client_transaction', '2026-08-31 06:15:04.421381+00', '2026-08-31 06:15:06.421381+00', 1, 1, 'failed', 'by_test', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO appstore.outcome_history (replaced_at, replaced_by, event_id, source, received_at, settled_at, run, attempts, result, reason, last_error, notification_type, subtype, notification_uuid, environment, bundle_id, transaction_id, original_transaction_id, odd_members) VALUES ('2026-08-31 06:15:04.421381+00', 'by_test', 3, 'client_transaction', '2026-08-31 06:15:04.421381+00', '2026-08-31 06:15:07.421381+00', 1, 1, 'failed', 'by_test', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);


ALTER TABLE appstore.outcome_history ENABLE TRIGGER ALL;


-- load via partition root appstore.outcomes

ALTER TABLE appstore.outcomes_default DISABLE TRIGGER ALL;



ALTER TABLE appstore.outcomes_default ENABLE TRIGGER ALL;


-- load via partition root appstore.outcomes

ALTER TABLE appstore.outcomes_first DISABLE TRIGGER ALL;

INSERT INTO appstore.outcomes (event_id, source, received_at, settled_at, run, attempts, result, reason, last_error, notification_type, subtype, notification_uuid, environment, bundle_id, transaction_id, original_transaction_id, odd_members) VALUES (1, 'client_transaction', '2026-08-31 06:15:04.421381+00', '2026-08-31 06:15:05.421381+00', 2, 1, 'failed', 'by_test', NULL, NULL, NULL, NULL, 'Production', NULL, NULL, '1', NULL);
INSERT INTO appstore.outcomes (event_id, source, received_at, settled_at, run, attempts, result, reason, last_error, notification_type, subtype, notification_uuid, environment, bundle_id, transaction_id, original_transaction_id, odd_members) VALUES (2, 'client_transaction', '2026-08-31 06:15:04.421381+00', '2026-08-31 06:15:06.421381+00', 2, 1, 'rejected', 'by_test', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO appstore.outcomes (event_id, source, received_at, settled_at, run, attempts, result, reason, last_error, notification_type, subtype, notification_uuid, environment, bundle_id, transaction_id, original_transaction_id, odd_members) VALUES (3, 'client_transaction', '2026-08-31 06:15:04.421381+00', '2026-08-31 06:15:07.421381+00', 2, 1, 'failed', 'by_test', NULL, NULL, NULL, NULL, 'Production', NULL, NULL, '3', NULL);


ALTER TABLE appstore.outcomes_first ENABLE TRIGGER ALL;


-- load via partition root appstore.outcomes

ALTER TABLE appstore.outcomes_rest DISABLE TRIGGER ALL;

INSERT INTO appstore.outcomes (event_id, source, received_at, settled_at, run, attempts, result, reason, last_error, notification_type, subtype, notification_uuid, environment, bundle_id, transaction_id, original_transaction_id, odd_members) VALUES (3000001, 'notification_v2', '2026-08-31 06:15:04.421381+00', '2026-08-31 06:15:04.421381+00', 1, 1, 'applied', NULL, NULL, NULL, NULL, NULL, 'Production', NULL, NULL, NULL, NULL);
INSERT INTO appstore.outcomes (event_id, source, received_at, settled_at, run, attempts, result, reason, last_error, notification_type, subtype, notification_uuid, environment, bundle_id, transaction_id, original_transaction_id, odd_members) VALUES (1000000001, 'notification_v2', '2026-08-31 06:15:04.421381+00', '2026-08-31 06:15:04.421381+00', 1, 1, 'applied', NULL, NULL, NULL, NULL, NULL, 'Production', NULL, NULL, NULL, NULL);
INSERT INTO appstore.outcomes (event_id, source, received_at, settled_at, run, attempts, result, reason, last_error, notification_type, subtype, notification_uuid, environment, bundle_id, transaction_id, original_transaction_id, odd_members) VALUES (3000002, 'notification_v2', '2026-08-31 06:15:04.421381+00', '2026-08-31 06:15:04.421381+00', 1, 1, 'applied', NULL, NULL, NULL, NULL, NULL, 'Production', NULL, NULL, NULL, NULL);
INSERT INTO appstore.outcomes (event_id, source, received_at, settled_at, run, attempts, result, reason, last_error, notification_type, subtype, notification_uuid, environment, bundle_id, transaction_id, original_transaction_id, odd_members) VALUES (1000000002, 'notification_v2', '2026-08-31 06:15:04.421381+00', '2026-08-31 06:15:04.421381+00', 1, 1, 'applied', NULL, NULL, NULL, NULL, NULL, 'Production', NULL, NULL, NULL, NULL);
INSERT INTO appstore.outcomes (event_id, source, received_at, settled_at, run, attempts, result, reason, last_error, notification_type, subtype, notification_uuid, environment, bundle_id, transaction_id, original_transaction_id, odd_members) VALUES (3000003, 'notification_v2', '2026-08-31 06:15:04.421381+00', '2026-08-31 06:15:04.421381+00', 1, 1, 'applied', NULL, NULL, NULL, NULL, NULL, 'Production', NULL, NULL, NULL, NULL);
INSERT INTO appstore.outcomes (event_id, source, received_at, settled_at, run, attempts, result, reason, last_error, notification_type, subtype, notification_uuid, environment, bundle_id, transaction_id, original_transaction_id, odd_members) VALUES (1000000003, 'notification_v2', '2026-08-31 06:15:04.421381+00', '2026-08-31 06:15:04.421381+00', 1, 1, 'applied', NULL, NULL, NULL, NULL, NULL, 'Production', NULL, NULL, NULL, NULL);


ALTER TABLE appstore.outcomes_rest ENABLE TRIGGER ALL;


ALTER TABLE appstore.owner_links DISABLE TRIGGER ALL;

INSERT INTO appstore.owner_links (link_id, environment, original_transaction_id, linked_at, user_id, actor, note, import_id) OVERRIDING SYSTEM VALUE VALUES (1, 'Production', '1', '2026-01-02 00:00:00+00', 'user 1', 'by_test', NULL, NULL);
INSERT INTO appstore.owner_links (link_id, environment, original_transaction_id, linked_at, user_id, actor, note, import_id) OVERRIDING SYSTEM VALUE VALUES (2, 'Production', '2', '2026-01-02 00:00:00+00', 'user 2', 'by_test', NULL, NULL);
INSERT INTO appstore.owner_links (link_id, environment, original_transaction_id, linked_at, user_id, actor, note, import_id) OVERRIDING SYSTEM VALUE VALUES (3, 'Production', '3', '2026-01-02 00:00:00+00', 'user 3', 'by_test', NULL, NULL);


ALTER TABLE appstore.owner_links ENABLE TRIGGER ALL;


ALTER TABLE appstore.ownership_claims DISABLE TRIGGER ALL;

INSERT INTO appstore.ownership_claims (environment, original_transaction_id, kind, source_id, user_id, effective_at) VALUES ('Production', '1', 'link', '00001767312000000000', 'user 1', '2026-01-02 00:00:00+00');
INSERT INTO appstore.ownership_claims (environment, original_transaction_id, kind, source_id, user_id, effective_at) VALUES ('Production', '2', 'link', '00001767312000000000', 'user 2', '2026-01-02 00:00:00+00');
INSERT INTO appstore.ownership_claims (environment, original_transaction_id, kind, source_id, user_id, effective_at) VALUES ('Production', '3', 'link', '00001767312000000000', 'user 3', '2026-01-02 00:00:00+00');


ALTER TABLE appstore.ownership_claims ENABLE TRIGGER ALL;


ALTER TABLE appstore.posted_types DISABLE TRIGGER ALL;

INSERT INTO appstore.posted_types (environment, transaction_id, product_type) VALUES ('Production', '1', 'Auto-Renewable Subscription');


ALTER TABLE appstore.posted_types ENABLE TRIGGER ALL;


ALTER TABLE appstore.products DISABLE TRIGGER ALL;

INSERT INTO appstore.products (bundle_id, product_id, entitlement, days, duration) VALUES ('b', 'p', 'pro', NULL, NULL);


ALTER TABLE appstore.products ENABLE TRIGGER ALL;


ALTER TABLE appstore.reconcile_counts DISABLE TRIGGER ALL;

INSERT INTO appstore.reconcile_counts (day, rule, questions, answered, changed) VALUES ('2026-01-01', 'sample', 3, 0, 0);


ALTER TABLE appstore.reconcile_counts ENABLE TRIGGER ALL;


ALTER TABLE appstore.reconcile_questions DISABLE TRIGGER ALL;

INSERT INTO appstore.reconcile_questions (question_id, environment, original_transaction_id, bundle_id, rule, transaction_id, app_transaction_id, asked_at, call_id, status, will_renew, current_period_end, revoked_at, access_until, result, settled_at) OVERRIDING SYSTEM VALUE VALUES (1, 'Production', '1', 'b', 'sample', NULL, 'app 1', '2026-11-27 06:15:04.421381+00', 1, NULL, NULL, NULL, NULL, NULL, 'same', '2026-11-27 06:15:04.421381+00');
INSERT INTO appstore.reconcile_questions (question_id, environment, original_transaction_id, bundle_id, rule, transaction_id, app_transaction_id, asked_at, call_id, status, will_renew, current_period_end, revoked_at, access_until, result, settled_at) OVERRIDING SYSTEM VALUE VALUES (2, 'Production', '2', 'b', 'sample', NULL, 'app 2', '2026-11-27 06:15:04.421381+00', 2, NULL, NULL, NULL, NULL, NULL, 'same', '2026-11-27 06:15:04.421381+00');
INSERT INTO appstore.reconcile_questions (question_id, environment, original_transaction_id, bundle_id, rule, transaction_id, app_transaction_id, asked_at, call_id, status, will_renew, current_period_end, revoked_at, access_until, result, settled_at) OVERRIDING SYSTEM VALUE VALUES (3, 'Production', '3', 'b', 'sample', NULL, 'app 3', '2026-11-27 06:15:04.421381+00', 3, NULL, NULL, NULL, NULL, NULL, 'same', '2026-11-27 06:15:04.421381+00');


ALTER TABLE appstore.reconcile_questions ENABLE TRIGGER ALL;


ALTER TABLE appstore.reconcile_walks DISABLE TRIGGER ALL;

INSERT INTO appstore.reconcile_walks (bundle_id, environment, walk, until) VALUES ('b', 'Production', 'sample', '2026-11-29 06:15:04.421381+00');


ALTER TABLE appstore.reconcile_walks ENABLE TRIGGER ALL;


ALTER TABLE appstore.reconcile_watches DISABLE TRIGGER ALL;

INSERT INTO appstore.reconcile_watches (environment, original_transaction_id, rule, bundle_id, transaction_id, since, next_at, questions) VALUES ('Production', '1', 'in_retry', 'b', NULL, '2026-02-01 00:00:00+00', '2026-11-30 06:15:04.421381+00', 0);
INSERT INTO appstore.reconcile_watches (environment, original_transaction_id, rule, bundle_id, transaction_id, since, next_at, questions) VALUES ('Production', '2', 'in_retry', 'b', NULL, '2026-02-01 00:00:00+00', '2026-11-30 06:15:04.421381+00', 0);
INSERT INTO appstore.reconcile_watches (environment, original_transaction_id, rule, bundle_id, transaction_id, since, next_at, questions) VALUES ('Production', '3', 'in_retry', 'b', NULL, '2026-02-01 00:00:00+00', '2026-11-30 06:15:04.421381+00', 0);


ALTER TABLE appstore.reconcile_watches ENABLE TRIGGER ALL;


ALTER TABLE appstore.redeliveries DISABLE TRIGGER ALL;

INSERT INTO appstore.redeliveries (redelivery_id, endpoint, after, upto, types, state, asked_at, actor, note, sent, ended_at) OVERRIDING SYSTEM VALUE VALUES (1, 'e1', 0, 3, NULL, 'open', '2026-11-29 06:15:04.837466+00', 'by_test', NULL, 0, NULL);


ALTER TABLE appstore.redeliveries ENABLE TRIGGER ALL;


ALTER TABLE appstore.refund_requests DISABLE TRIGGER ALL;

INSERT INTO appstore.refund_requests (environment, notification_uuid, kind, transaction_id, original_transaction_id, reason, signed_date, left_transaction_id, is_advanced_commerce) VALUES ('Production', 'b058ace8-5570-465f-a9cc-7d526a9da30f', 'asked', '1', '1', NULL, '2026-01-03 00:00:00+00', NULL, false);
INSERT INTO appstore.refund_requests (environment, notification_uuid, kind, transaction_id, original_transaction_id, reason, signed_date, left_transaction_id, is_advanced_commerce) VALUES ('Production', 'da6cb03f-e6e5-4128-8008-6eee5bf91683', 'asked', '2', '2', NULL, '2026-01-03 00:00:00+00', NULL, false);
INSERT INTO appstore.refund_requests (environment, notification_uuid, kind, transaction_id, original_transaction_id, reason, signed_date, left_transaction_id, is_advanced_commerce) VALUES ('Production', '6b6666e3-e8e0-43dc-9258-6b61b0137734', 'asked', '3', '3', NULL, '2026-01-03 00:00:00+00', NULL, false);


ALTER TABLE appstore.refund_requests ENABLE TRIGGER ALL;


ALTER TABLE appstore.repairs DISABLE TRIGGER ALL;

INSERT INTO appstore.repairs (repair_id, action, filter, note, actor, login, asked_at, expected, state, run_at, repaired, checked_at, checked_event_id, pace, due_from, ended_at, last_error) OVERRIDING SYSTEM VALUE VALUES (1, 'requeue', '(rejected,,,,,,,)', NULL, 'by_test', NULL, '2026-11-29 06:15:04.83787+00', 3, 'running', '2026-11-29 06:15:04.83787+00', 0, '-infinity', 0, '00:00:01', '-infinity', NULL, NULL);


ALTER TABLE appstore.repairs ENABLE TRIGGER ALL;


ALTER TABLE appstore.seen_notifications DISABLE TRIGGER ALL;

INSERT INTO appstore.seen_notifications (environment, notification_uuid, seen_on, first_event_id) VALUES ('Production', '8007231a-e6cd-44e2-976b-7cd93ec689ad', '2026-11-29', 1);
INSERT INTO appstore.seen_notifications (environment, notification_uuid, seen_on, first_event_id) VALUES ('Production', 'e21d52fe-202b-4ee6-b94a-2aaab4d64645', '2026-11-29', 2);
INSERT INTO appstore.seen_notifications (environment, notification_uuid, seen_on, first_event_id) VALUES ('Production', 'cdde4daa-ebb9-4c9f-ac17-5b11cf5b1229', '2026-11-29', 3);


ALTER TABLE appstore.seen_notifications ENABLE TRIGGER ALL;


ALTER TABLE appstore.tells DISABLE TRIGGER ALL;

INSERT INTO appstore.tells (tell_id, xid, kind, environment, ref, told_at) OVERRIDING SYSTEM VALUE VALUES (1, '1028', 'effect', 'Production', 'x', '2026-11-29 06:15:04.838491+00');


ALTER TABLE appstore.tells ENABLE TRIGGER ALL;


ALTER TABLE appstore.token_orders DISABLE TRIGGER ALL;

INSERT INTO appstore.token_orders (environment, order_no, user_id, product_id, bundle_id, ordered_at, status, reason, period_no, transaction_id, original_transaction_id, web_order_line_item_id, paid_product_id, paid_at, quantity, price, currency) VALUES ('Production', '00000000-0000-4000-8000-000000000001', 'user 1', 'pro.monthly', NULL, '2026-01-01 00:00:00+00', 'pending', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO appstore.token_orders (environment, order_no, user_id, product_id, bundle_id, ordered_at, status, reason, period_no, transaction_id, original_transaction_id, web_order_line_item_id, paid_product_id, paid_at, quantity, price, currency) VALUES ('Production', '00000000-0000-4000-8000-000000000002', 'user 2', 'pro.monthly', NULL, '2026-01-01 00:00:00+00', 'pending', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO appstore.token_orders (environment, order_no, user_id, product_id, bundle_id, ordered_at, status, reason, period_no, transaction_id, original_transaction_id, web_order_line_item_id, paid_product_id, paid_at, quantity, price, currency) VALUES ('Production', '00000000-0000-4000-8000-000000000003', 'user 3', 'pro.monthly', NULL, '2026-01-01 00:00:00+00', 'pending', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO appstore.token_orders (environment, order_no, user_id, product_id, bundle_id, ordered_at, status, reason, period_no, transaction_id, original_transaction_id, web_order_line_item_id, paid_product_id, paid_at, quantity, price, currency) VALUES ('Production', '00000000-0000-4000-8000-000001000001', NULL, NULL, NULL, NULL, 'paid', NULL, '00000000-0000-4000-8000-000002000001', '1', '1', NULL, 'p', '2026-01-02 00:00:00+00', NULL, NULL, NULL);
INSERT INTO appstore.token_orders (environment, order_no, user_id, product_id, bundle_id, ordered_at, status, reason, period_no, transaction_id, original_transaction_id, web_order_line_item_id, paid_product_id, paid_at, quantity, price, currency) VALUES ('Production', '00000000-0000-4000-8000-000001000002', NULL, NULL, NULL, NULL, 'paid', NULL, '00000000-0000-4000-8000-000002000002', '2', '2', NULL, 'p', '2026-01-02 00:00:00+00', NULL, NULL, NULL);
INSERT INTO appstore.token_orders (environment, order_no, user_id, product_id, bundle_id, ordered_at, status, reason, period_no, transaction_id, original_transaction_id, web_order_line_item_id, paid_product_id, paid_at, quantity, price, currency) VALUES ('Production', '00000000-0000-4000-8000-000001000003', NULL, NULL, NULL, NULL, 'paid', NULL, '00000000-0000-4000-8000-000002000003', '3', '3', NULL, 'p', '2026-01-02 00:00:00+00', NULL, NULL, NULL);


ALTER TABLE appstore.token_orders ENABLE TRIGGER ALL;


ALTER TABLE appstore.told_access DISABLE TRIGGER ALL;

INSERT INTO appstore.told_access (environment, original_transaction_id, entitlement, user_id, active, until, why, turns_at, changes) VALUES ('Production', '1', 'pro', 'user 1', true, NULL, 'paid', NULL, 1);


ALTER TABLE appstore.told_access ENABLE TRIGGER ALL;


ALTER TABLE appstore.told_orders DISABLE TRIGGER ALL;

INSERT INTO appstore.told_orders (environment, order_no, status, changes) VALUES ('Production', '9078b978-4905-49fa-9b3b-a5426ea3c87d', 'paid', 1);


ALTER TABLE appstore.told_orders ENABLE TRIGGER ALL;


ALTER TABLE appstore.transactions DISABLE TRIGGER ALL;

INSERT INTO appstore.transactions (environment, transaction_id, original_transaction_id, web_order_line_item_id, bundle_id, product_id, product_type, subscription_group_identifier, purchase_date, original_purchase_date, expires_date, quantity, app_account_token, in_app_ownership_type, revocation_date, revocation_reason, revocation_type, revocation_percentage, is_upgraded, offer_type, offer_identifier, offer_discount_type, offer_period, storefront, storefront_id, transaction_reason, currency, price, app_transaction_id, billing_plan_type, signed_date, payload_hash, first_signed_date, first_token, first_token_signed_date, first_token_hash, period_no, is_subscription, is_purchased, order_no, token_changed, left_token, receipt_date, receipt_hash, receipt_expires_date, receipt_revocation_date, receipt_revocation_reason, receipt_is_upgraded, left_contract, is_later_copy, known, multi_seat_info, commitment_info, additional_transaction_reason, previous_original_transaction_id) VALUES ('Production', '1', '1', NULL, 'b', 'p', 'Auto-Renewable Subscription', NULL, '2026-01-02 00:00:00+00', NULL, '2026-02-01 00:00:00+00', NULL, '00000000-0000-4000-8000-000001000001', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '2026-01-02 00:00:00+00', '\x01', '2026-01-02 00:00:00+00', '00000000-0000-4000-8000-000001000001', NULL, NULL, '00000000-0000-4000-8000-000002000001', true, true, '00000000-0000-4000-8000-000001000001', false, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, false, NULL, NULL, NULL, NULL, NULL);
INSERT INTO appstore.transactions (environment, transaction_id, original_transaction_id, web_order_line_item_id, bundle_id, product_id, product_type, subscription_group_identifier, purchase_date, original_purchase_date, expires_date, quantity, app_account_token, in_app_ownership_type, revocation_date, revocation_reason, revocation_type, revocation_percentage, is_upgraded, offer_type, offer_identifier, offer_discount_type, offer_period, storefront, storefront_id, transaction_reason, currency, price, app_transaction_id, billing_plan_type, signed_date, payload_hash, first_signed_date, first_token, first_token_signed_date, first_token_hash, period_no, is_subscription, is_purchased, order_no, token_changed, left_token, receipt_date, receipt_hash, receipt_expires_date, receipt_revocation_date, receipt_revocation_reason, receipt_is_upgraded, left_contract, is_later_copy, known, multi_seat_info, commitment_info, additional_transaction_reason, previous_original_transaction_id) VALUES ('Production', '2', '2', NULL, 'b', 'p', 'Auto-Renewable Subscription', NULL, '2026-01-02 00:00:00+00', NULL, '2026-02-01 00:00:00+00', NULL, '00000000-0000-4000-8000-000001000002', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '2026-01-02 00:00:00+00', '\x01', '2026-01-02 00:00:00+00', '00000000-0000-4000-8000-000001000002', NULL, NULL, '00000000-0000-4000-8000-000002000002', true, true, '00000000-0000-4000-8000-000001000002', false, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, false, NULL, NULL, NULL, NULL, NULL);
INSERT INTO appstore.transactions (environment, transaction_id, original_transaction_id, web_order_line_item_id, bundle_id, product_id, product_type, subscription_group_identifier, purchase_date, original_purchase_date, expires_date, quantity, app_account_token, in_app_ownership_type, revocation_date, revocation_reason, revocation_type, revocation_percentage, is_upgraded, offer_type, offer_identifier, offer_discount_type, offer_period, storefront, storefront_id, transaction_reason, currency, price, app_transaction_id, billing_plan_type, signed_date, payload_hash, first_signed_date, first_token, first_token_signed_date, first_token_hash, period_no, is_subscription, is_purchased, order_no, token_changed, left_token, receipt_date, receipt_hash, receipt_expires_date, receipt_revocation_date, receipt_revocation_reason, receipt_is_upgraded, left_contract, is_later_copy, known, multi_seat_info, commitment_info, additional_transaction_reason, previous_original_transaction_id) VALUES ('Production', '3', '3', NULL, 'b', 'p', 'Auto-Renewable Subscription', NULL, '2026-01-02 00:00:00+00', NULL, '2026-02-01 00:00:00+00', NULL, '00000000-0000-4000-8000-000001000003', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '2026-01-02 00:00:00+00', '\x01', '2026-01-02 00:00:00+00', '00000000-0000-4000-8000-000001000003', NULL, NULL, '00000000-0000-4000-8000-000002000003', true, true, '00000000-0000-4000-8000-000001000003', false, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, false, NULL, NULL, NULL, NULL, NULL);


ALTER TABLE appstore.transactions ENABLE TRIGGER ALL;


ALTER TABLE appstore.user_tokens DISABLE TRIGGER ALL;

INSERT INTO appstore.user_tokens (token, user_id, set_at, actor) VALUES ('00000000-0000-4000-9000-000000000001', 'user 1', '2026-01-02 00:00:00+00', 'by_test');


ALTER TABLE appstore.user_tokens ENABLE TRIGGER ALL;


ALTER TABLE appstore.v1_renewals DISABLE TRIGGER ALL;

INSERT INTO appstore.v1_renewals (environment, original_transaction_id, bundle_id, provenance, product_id, auto_renew_product_id, auto_renew_status, is_in_billing_retry_period, expiration_intent, grace_period_expires_date, price_increase_status, promotional_offer_id, offer_code_ref_name, stated_at, fact_hash) VALUES ('Production', '1', 'b', 'v1', NULL, NULL, 1, NULL, NULL, NULL, NULL, NULL, NULL, '2026-01-01 00:00:00+00', '\x01');
INSERT INTO appstore.v1_renewals (environment, original_transaction_id, bundle_id, provenance, product_id, auto_renew_product_id, auto_renew_status, is_in_billing_retry_period, expiration_intent, grace_period_expires_date, price_increase_status, promotional_offer_id, offer_code_ref_name, stated_at, fact_hash) VALUES ('Production', '2', 'b', 'v1', NULL, NULL, 1, NULL, NULL, NULL, NULL, NULL, NULL, '2026-01-01 00:00:00+00', '\x01');
INSERT INTO appstore.v1_renewals (environment, original_transaction_id, bundle_id, provenance, product_id, auto_renew_product_id, auto_renew_status, is_in_billing_retry_period, expiration_intent, grace_period_expires_date, price_increase_status, promotional_offer_id, offer_code_ref_name, stated_at, fact_hash) VALUES ('Production', '3', 'b', 'v1', NULL, NULL, 1, NULL, NULL, NULL, NULL, NULL, NULL, '2026-01-01 00:00:00+00', '\x01');


ALTER TABLE appstore.v1_renewals ENABLE TRIGGER ALL;


SELECT pg_catalog.setval('appstore.api_keys_key_id_seq', 1, true);



SELECT pg_catalog.setval('appstore.audit_log_audit_id_seq', 3, true);



SELECT pg_catalog.setval('appstore.client_posts_post_id_seq', 6, true);



SELECT pg_catalog.setval('appstore.consents_consent_id_seq', 6, true);



SELECT pg_catalog.setval('appstore.console_sessions_session_id_seq', 1, true);



SELECT pg_catalog.setval('appstore.consumption_decisions_decision_id_seq', 6, true);



SELECT pg_catalog.setval('appstore.consumption_policies_policy_id_seq', 2, true);



SELECT pg_catalog.setval('appstore.delivery_attempts_attempt_id_seq', 3, true);



SELECT pg_catalog.setval('appstore.history_windows_window_id_seq', 1, true);



SELECT pg_catalog.setval('appstore.imports_import_id_seq', 1, true);



SELECT pg_catalog.setval('appstore.inbox_event_id', 1, false);



SELECT pg_catalog.setval('appstore.outbox_call_id_seq', 6, true);



SELECT pg_catalog.setval('appstore.owner_links_link_id_seq', 3, true);



SELECT pg_catalog.setval('appstore.reconcile_questions_question_id_seq', 3, true);



SELECT pg_catalog.setval('appstore.redeliveries_redelivery_id_seq', 1, true);



SELECT pg_catalog.setval('appstore.repairs_repair_id_seq', 1, true);



SELECT pg_catalog.setval('appstore.tells_tell_id_seq', 1, true);


--
-- PostgreSQL database dump complete
--


