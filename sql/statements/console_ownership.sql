-- Reads the claims to contracts, of each the one that decides first.
-- The console sends it for its page Customer.
-- Returns a JSON object for each claim.
SELECT to_jsonb(o) AS document FROM appstore.ownership_of(:environment::appstore.environment, :original_transaction_ids::text[]) AS o;
