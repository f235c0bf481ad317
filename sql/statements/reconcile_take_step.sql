-- Takes a step of the reconciliation: finds stale contracts, asks Apple about them by the outbox, and finds the results of earlier questions.
-- A worker that has keys sends it every five minutes, and again at once while has_more.
-- Returns one row; nulls while another worker does it.
SELECT r.asked, r.settled, r.has_more
FROM appstore.reconcile(:bundle_ids::text[], :environments::appstore.environment[], :sample::integer) AS r;
