-- Reads the versions that registers hold.
-- appstore-inbox explain sends it, in a transaction that only reads, one element of each array for each fact of the event.
-- Returns a row for each element, in their order; the version is null while the register has none.
--
-- :registers   transactions, transactions.receipt (the receipt half), contracts or v1_renewals
SELECT held.signed_date, held.hash
FROM unnest(:registers::text[], :ids::text[], :bundle_ids::text[]) WITH ORDINALITY AS u (register, id, bundle_id, place)
LEFT JOIN LATERAL (
    SELECT t.signed_date, t.payload_hash AS hash FROM appstore.transactions AS t
    WHERE u.register = 'transactions' AND t.transaction_id = u.id AND t.environment::text = :environment::text
    UNION ALL
    SELECT t.receipt_date, t.receipt_hash FROM appstore.transactions AS t
    WHERE u.register = 'transactions.receipt' AND t.transaction_id = u.id AND t.environment::text = :environment::text
    UNION ALL
    SELECT c.renewal_signed_date, c.renewal_hash FROM appstore.contracts AS c
    WHERE u.register = 'contracts' AND c.original_transaction_id = u.id AND c.environment::text = :environment::text
    UNION ALL
    SELECT r.stated_at, r.fact_hash FROM appstore.v1_renewals AS r
    WHERE u.register = 'v1_renewals' AND r.original_transaction_id = u.id AND r.bundle_id = u.bundle_id
      AND r.environment::text = :environment::text
) AS held ON true
ORDER BY u.place;
