-- Lists tokens for purchases outside the App Store that must be reported within two days, the soonest first.
-- The console's page Attention sends it, as appstore_viewer.
-- Returns at most :limit rows.
SELECT d.external_purchase_id, d.bundle_id, d.token_type, d.report_by, d.subtype, d.last_event_id
FROM appstore.external_purchase_tokens_due AS d
WHERE d.environment = :environment::appstore.environment AND d.report_by <= statement_timestamp() + interval '48 hours'
ORDER BY d.report_by
LIMIT :limit::integer;
