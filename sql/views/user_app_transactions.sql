CREATE OR REPLACE VIEW appstore.user_app_transactions AS
SELECT found.user_id, a.environment, a.app_transaction_id, a.bundle_id, a.original_application_version, a.application_version,
       a.original_purchase_date, a.original_platform, a.preorder_date, a.store_type, a.revocation_date, a.signed_date, a.event_id, a.posted_at
FROM (
    SELECT p.user_id, p.environment, p.app_transaction_id FROM appstore.app_transactions AS p WHERE p.user_id IS NOT NULL
    UNION ALL
    -- What no user has posted, by the purchases of the user: a claim for each contract that is or was the user's.
    SELECT owned.user_id, owned.environment, owned.app_transaction_id
    FROM (
        SELECT DISTINCT k.user_id, t.environment, t.app_transaction_id
        FROM appstore.ownership_claims AS k
        CROSS JOIN LATERAL (
            SELECT t.environment, t.app_transaction_id FROM appstore.transactions AS t
            WHERE t.original_transaction_id = k.original_transaction_id AND t.environment = k.environment AND t.app_transaction_id IS NOT NULL
            OFFSET 0
        ) AS t
    ) AS owned
    CROSS JOIN LATERAL (
        SELECT FROM appstore.app_transactions AS p
        WHERE p.app_transaction_id = owned.app_transaction_id AND p.environment = owned.environment AND p.user_id IS NULL OFFSET 0
    ) AS unposted
    -- OFFSET 0: once for each download, and not for each purchase.
    CROSS JOIN LATERAL (
        SELECT appstore.app_transaction_user(owned.environment, owned.app_transaction_id) AS user_id OFFSET 0
    ) AS owner
    WHERE owner.user_id = owned.user_id
) AS found
CROSS JOIN LATERAL (
    SELECT a.* FROM appstore.app_transactions AS a
    WHERE a.app_transaction_id = found.app_transaction_id AND a.environment = found.environment OFFSET 0
) AS a;
COMMENT ON VIEW appstore.user_app_transactions IS
    'Each user''s downloads of your apps, a row for each Apple Account and app: which version the user downloaded first, when and where. Ask it by user_id.';
COMMENT ON COLUMN appstore.user_app_transactions.user_id IS 'The user whose app posted it first, else the owner of the Apple Account''s latest purchase.';
COMMENT ON COLUMN appstore.user_app_transactions.original_application_version IS
    'The version that the customer downloaded first: CFBundleShortVersionString on macOS, elsewhere CFBundleVersion, the build. In Sandbox always 1.0.';
COMMENT ON COLUMN appstore.user_app_transactions.application_version IS 'The version on the device that posted it last; null where none did.';
COMMENT ON COLUMN appstore.user_app_transactions.original_purchase_date IS
    'When the customer downloaded the app first. In Sandbox always midnight of 2013-08-01, Pacific time.';
COMMENT ON COLUMN appstore.user_app_transactions.original_platform IS 'Where that was: iOS, macOS, tvOS, visionOS.';
COMMENT ON COLUMN appstore.user_app_transactions.preorder_date IS 'When the customer ordered the app before it was sold; else null.';
COMMENT ON COLUMN appstore.user_app_transactions.store_type IS 'Apple''s storeType: CONSUMER.';
COMMENT ON COLUMN appstore.user_app_transactions.revocation_date IS 'When Apple took the purchase of the app back; else null.';
COMMENT ON COLUMN appstore.user_app_transactions.signed_date IS 'When Apple signed the newest statement.';
COMMENT ON COLUMN appstore.user_app_transactions.posted_at IS 'When the user''s app posted it first; null where no app did.';
