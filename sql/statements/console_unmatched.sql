-- Lists cases that need a person's decision about an owner.
-- The console's page Attention sends it, as appstore_viewer.
-- Returns at most :limit rows.
SELECT u.reason, u.resolution, u.user_id, u.owner_user_id, u.original_transaction_id, u.product_id, u.purchase_date
FROM appstore.unmatched AS u
WHERE u.environment = :environment::appstore.environment
LIMIT :limit::integer;
