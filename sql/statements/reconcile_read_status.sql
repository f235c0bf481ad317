-- Reads what each rule of the reconciliation watches, has asked, and found.
-- appstore-inbox reconcile status sends it, as appstore_viewer or appstore_operator.
-- Returns a row for each rule.
SELECT r.rule, r.watched, r.open, r.questions, r.answered, r.changed, r.wrong_ratio
FROM appstore.reconcile_status AS r
ORDER BY array_position('{expired_silent,no_renewal_info,in_retry,revoked_doubt,price_consent,sample,operator}', r.rule);
