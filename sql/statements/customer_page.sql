-- Reads what the database knows of a user, or of a contract.
-- appstore-inbox user and the console send it; :user or :original_transaction_id is null, :environment is Production or Sandbox.
-- Returns one row, whose document is null for an unknown customer.
--
-- :before   the place in the timeline before which its entries are wanted; null for the latest
SELECT appstore.explain_customer(:user::text, :original_transaction_id::text, :environment::text::appstore.environment, :before::bigint,
                                 :limit::integer)::text AS document;
