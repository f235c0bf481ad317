-- Reads which owners were linked to a contract by hand or by the shop.
-- appstore-inbox explain sends it, in a transaction that only reads.
-- Returns a row for each link, as JSON, latest first.
SELECT row_to_json(l)::text AS row
FROM appstore.owner_links AS l
WHERE environment::text = :environment::text AND original_transaction_id = :original_transaction_id::text
ORDER BY linked_at DESC, link_id DESC;
