-- Reads what the database knows of a user.
-- appstore-inbox user sends it; :environment is Production or Sandbox.
-- Returns one row, whose document is null for an unknown user.
SELECT appstore.explain_user(:user::text, :environment::text::appstore.environment, :limit::integer)::text AS document;
