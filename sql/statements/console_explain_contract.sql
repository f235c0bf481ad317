-- Reads what the database knows of a contract.
-- The console sends it for its page Customer.
-- Returns one row, whose document is null for an unknown contract.
--
-- :before   the place in the timeline before which its entries are wanted; null for the latest
SELECT appstore.explain_contract(:environment::text::appstore.environment, :original_transaction_id::text, :before::bigint, :limit::integer)::text
       AS document;
