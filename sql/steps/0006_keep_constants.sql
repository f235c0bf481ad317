-- breaking: a worker of the release before would forget what cannot change, and leave the version of what it replaces
ALTER TABLE appstore.transactions ADD COLUMN known jsonb;
COMMENT ON TABLE appstore.transactions IS
    'The latest state of each transaction from Apple. It has two halves, each replaced as a whole by a newer fact of its kind: the JWS half '
    '(signed_date, payload_hash) and the receipt half (receipt_date, receipt_hash). Constants are those of the JWS half where there is one; '
    'expires_date, revocation_* and is_upgraded those of the half with the later date, the JWS half on a tie. What cannot change (known lists it) '
    'stays when a newer fact does not have it.';
COMMENT ON COLUMN appstore.transactions.known IS
    'Where the newest JWS lacks members that cannot change and are known, a member for each, by its column: [signed_date in milliseconds, '
    'payload_hash] of the newest JWS that has it, null where only receipts have it. Null in most transactions. Such members are product_type, '
    'in_app_ownership_type, subscription_group_identifier, quantity, original_purchase_date, price, currency, storefront, storefront_id, '
    'transaction_reason, offer_type, offer_identifier, offer_discount_type, offer_period and app_transaction_id.';

CREATE TABLE appstore.posted_types (
    environment    appstore.environment NOT NULL,
    transaction_id text NOT NULL COLLATE "C",
    product_type   text NOT NULL COLLATE "C",
    PRIMARY KEY (transaction_id, environment)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.02);
COMMENT ON TABLE appstore.posted_types IS
    'The product types in posted receipts whose transactions come from Apple''s answer, which has no types. Of several types of a transaction the '
    'bytewise greatest. A type counts as one of a receipt: appstore.transactions has it as soon as it has the transaction.';
