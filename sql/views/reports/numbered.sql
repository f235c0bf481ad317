CREATE OR REPLACE VIEW appstore_reports.numbered AS
SELECT c.*, row_number() OVER contract AS renewal_number,
       row_number() OVER contract = 1 AND c.transaction_reason IS NOT NULL AND c.transaction_id <> c.original_transaction_id
           AS is_first_known,
       coalesce(lag(c.is_trial) OVER contract AND NOT c.is_trial, false) AS is_trial_conversion,
       lead(c.is_trial) OVER contract AS next_is_trial,
       coalesce(lead(c.is_refunded) OVER contract, false) AS next_is_refunded
FROM appstore_reports.charges AS c
WINDOW contract AS (PARTITION BY c.environment, c.original_transaction_id, c.is_purchased, c.is_addition
                    ORDER BY c.purchase_date, length(c.transaction_id), c.transaction_id);
COMMENT ON VIEW appstore_reports.numbered IS 'appstore_reports.charges with the place of each charge in its contract. Sorts all charges.';
COMMENT ON COLUMN appstore_reports.numbered.is_subscription IS 'See charges.';
COMMENT ON COLUMN appstore_reports.numbered.is_purchased IS 'See charges.';
COMMENT ON COLUMN appstore_reports.numbered.grace_ends_at IS 'See charges.';
COMMENT ON COLUMN appstore_reports.numbered.ended_at IS 'See charges.';
COMMENT ON COLUMN appstore_reports.numbered.counted_until IS 'See charges.';
COMMENT ON COLUMN appstore_reports.numbered.plan_duration IS 'See charges.';
COMMENT ON COLUMN appstore_reports.numbered.is_addition IS 'See charges. Additions have numbers of their own.';
COMMENT ON COLUMN appstore_reports.numbered.period_start IS 'See charges.';
COMMENT ON COLUMN appstore_reports.numbered.committed_at IS 'See charges.';
COMMENT ON COLUMN appstore_reports.numbered.running_price IS 'See charges.';
COMMENT ON COLUMN appstore_reports.numbered.is_trial IS 'See charges.';
COMMENT ON COLUMN appstore_reports.numbered.is_intro IS 'See charges.';
COMMENT ON COLUMN appstore_reports.numbered.refunded_at IS 'See charges.';
COMMENT ON COLUMN appstore_reports.numbered.refunded_percentage IS 'See charges.';
COMMENT ON COLUMN appstore_reports.numbered.is_refunded IS 'See charges.';
COMMENT ON COLUMN appstore_reports.numbered.stated_at IS 'See charges.';
COMMENT ON COLUMN appstore_reports.numbered.renewal_number IS '1 for the first charge of the contract; a trial counts.';
COMMENT ON COLUMN appstore_reports.numbered.is_first_known IS
    'Whether it is the first charge that is known of a contract which began before. Of what only a receipt tells this is not known: false.';
COMMENT ON COLUMN appstore_reports.numbered.is_trial_conversion IS 'Whether it is paid and the charge before it was a trial.';
COMMENT ON COLUMN appstore_reports.numbered.next_is_trial IS 'Whether the next charge is a trial; null where there is none.';
COMMENT ON COLUMN appstore_reports.numbered.next_is_refunded IS 'Whether the next period was refunded.';
