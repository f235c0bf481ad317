CREATE OR REPLACE VIEW appstore.reconcile_status AS
SELECT rule.name AS rule, coalesce(w.watched, 0) AS watched, coalesce(q.open, 0) AS open, coalesce(c.questions, 0) AS questions,
       coalesce(c.answered, 0) AS answered, coalesce(c.changed, 0) AS changed,
       CASE rule.name WHEN 'sample' THEN c.recently_changed / nullif(c.recently_answered, 0)::double precision END AS wrong_ratio
FROM unnest('{expired_silent,no_renewal_info,in_retry,revoked_doubt,price_consent,sample,operator}'::text[]) AS rule (name)
LEFT JOIN (SELECT w.rule, count(*) AS watched FROM appstore.reconcile_watches AS w GROUP BY w.rule) AS w ON w.rule = rule.name
LEFT JOIN (SELECT q.rule, count(*) AS open FROM appstore.reconcile_questions AS q WHERE q.result IS NULL GROUP BY q.rule) AS q ON q.rule = rule.name
LEFT JOIN (
    SELECT c.rule, sum(c.questions)::bigint AS questions, sum(c.answered)::bigint AS answered, sum(c.changed)::bigint AS changed,
           sum(c.answered) FILTER (WHERE c.day > (statement_timestamp() AT TIME ZONE 'UTC')::date - 30) AS recently_answered,
           sum(c.changed) FILTER (WHERE c.day > (statement_timestamp() AT TIME ZONE 'UTC')::date - 30) AS recently_changed
    FROM appstore.reconcile_counts AS c GROUP BY c.rule
) AS c ON c.rule = rule.name;
COMMENT ON VIEW appstore.reconcile_status IS
    'What each rule of the reconciliation watches, has asked, and found. A rule whose questions never change anything is not worth asking.';
COMMENT ON COLUMN appstore.reconcile_status.rule IS
    'A rule of stale_contracts; sample: active contracts, chosen at random; operator: appstore.reconcile_contract.';
COMMENT ON COLUMN appstore.reconcile_status.watched IS 'Contracts that looked stale and are looked at again.';
COMMENT ON COLUMN appstore.reconcile_status.open IS 'Questions without a result.';
COMMENT ON COLUMN appstore.reconcile_status.questions IS 'Questions so far.';
COMMENT ON COLUMN appstore.reconcile_status.answered IS 'Those whose answer could be compared with the ledger.';
COMMENT ON COLUMN appstore.reconcile_status.changed IS 'Those whose answer changed what the customer may use, or until when.';
COMMENT ON COLUMN appstore.reconcile_status.wrong_ratio IS
    'Of sample: the share of the answers of the last 30 days that changed it: how often the ledger was wrong. null without an answer.';
