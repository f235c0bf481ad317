CREATE OR REPLACE VIEW appstore.external_purchase_tokens_due AS
SELECT t.environment, t.external_purchase_id, t.bundle_id, t.app_apple_id, t.token_type, t.token_creation_date, t.token_expiration_date, t.report_by,
       t.report_by - statement_timestamp() AS time_left, t.subtype, t.signed_date, t.first_event_id, t.last_event_id, t.reported_at
FROM appstore.external_purchase_tokens AS t
-- As the index external_purchase_tokens_unreported has it.
WHERE t.reported_at IS NULL OR (t.subtype = 'UNREPORTED' AND t.signed_date > t.reported_at)
ORDER BY t.environment, t.report_by;
COMMENT ON VIEW appstore.external_purchase_tokens_due IS
    'Tokens for purchases outside the App Store that you have not reported to Apple, or that Apple has called UNREPORTED since: the soonest first.';
COMMENT ON COLUMN appstore.external_purchase_tokens_due.time_left IS 'Until report_by; negative where it is over.';
COMMENT ON COLUMN appstore.external_purchase_tokens_due.reported_at IS 'When you reported it, before Apple called it UNREPORTED; else null.';
COMMENT ON COLUMN appstore.external_purchase_tokens_due.external_purchase_id IS 'Apple''s externalPurchaseId.';
COMMENT ON COLUMN appstore.external_purchase_tokens_due.app_apple_id IS 'The app''s number in the App Store.';
COMMENT ON COLUMN appstore.external_purchase_tokens_due.token_type IS 'Apple''s tokenType; null where it is no token of a custom link.';
COMMENT ON COLUMN appstore.external_purchase_tokens_due.token_creation_date IS 'When Apple made the token.';
COMMENT ON COLUMN appstore.external_purchase_tokens_due.token_expiration_date IS 'When it expires; null where it is no token of a custom link.';
COMMENT ON COLUMN appstore.external_purchase_tokens_due.report_by IS
    'When Apple begins to complain that the token is not reported. Your agreement with Apple may set another deadline.';
COMMENT ON COLUMN appstore.external_purchase_tokens_due.subtype IS 'What the newest notification says: CREATED, ACTIVE_TOKEN_REMINDER, UNREPORTED.';
COMMENT ON COLUMN appstore.external_purchase_tokens_due.signed_date IS 'When Apple signed the newest notification.';
COMMENT ON COLUMN appstore.external_purchase_tokens_due.first_event_id IS 'The event that brought the oldest notification.';
COMMENT ON COLUMN appstore.external_purchase_tokens_due.last_event_id IS 'The event that brought the newest notification.';
