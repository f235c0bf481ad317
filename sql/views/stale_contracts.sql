CREATE OR REPLACE VIEW appstore.stale_contracts AS
SELECT w.environment, w.original_transaction_id, w.bundle_id, w.rule, w.since, w.next_at AS next_question_at, w.questions, m.user_id, m.status,
       m.access_until, w.transaction_id
FROM appstore.reconcile_watches AS w
LEFT JOIN appstore.contracts AS m ON m.original_transaction_id = w.original_transaction_id AND m.environment = w.environment
WHERE appstore.still_holds(w, m, statement_timestamp());
COMMENT ON VIEW appstore.stale_contracts IS
    'Contracts of which something should have been heard: those for which a rule of the reconciliation holds, and about which Apple will be asked.';
COMMENT ON COLUMN appstore.stale_contracts.rule IS 'expired_silent, no_renewal_info, in_retry, revoked_doubt or price_consent.';
COMMENT ON COLUMN appstore.stale_contracts.since IS 'The end of the period, when the purchase came, or when the refund was asked for.';
COMMENT ON COLUMN appstore.stale_contracts.next_question_at IS
    'When Apple is asked, at the earliest: not within 15 minutes of another event about the contract, nor twice a day about one customer.';
COMMENT ON COLUMN appstore.stale_contracts.questions IS 'How often Apple was asked by this rule since then.';
COMMENT ON COLUMN appstore.stale_contracts.user_id IS 'The owner of the contract.';
COMMENT ON COLUMN appstore.stale_contracts.status IS 'The status that the ledger knows.';
COMMENT ON COLUMN appstore.stale_contracts.access_until IS 'Until when the contract gives access, as far as the ledger knows.';
COMMENT ON COLUMN appstore.stale_contracts.transaction_id IS 'The charge whose refund is in doubt.';
