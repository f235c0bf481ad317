-- Reads how many questions each rule of the reconciliation has asked, how many changed the ledger, and how often a sample was wrong.
-- A worker that has keys sends it every few seconds for its metrics.
-- Returns one row of arrays; wrong_ratio is null without an answer about the sample.
SELECT s.rules, s.questions, s.changed, s.wrong_ratio
FROM appstore.reconcile_statistics() AS s;
