-- breaking: a worker of the release before would not say of a transaction whether it was purchased, nor write what it says of seats
-- 1. Only PURCHASED is a purchase: until now everything but FAMILY_SHARED was. As a column that the merge writes, no row is written anew but those that
-- change: two passes over the table.
LOCK TABLE appstore.contracts, appstore.transactions, appstore.token_orders, appstore.effect_log IN ACCESS EXCLUSIVE MODE;
ALTER TABLE appstore.transactions ALTER COLUMN is_purchased DROP EXPRESSION;
ALTER TABLE appstore.transactions ALTER COLUMN is_purchased SET DEFAULT true;

-- What the next step derives again: also what was revoked without a refund.
CREATE TABLE appstore.step_changed AS
SELECT t.environment, t.original_transaction_id, t.transaction_id, t.revocation_date,
       coalesce(t.in_app_ownership_type, 'PURCHASED') <> 'PURCHASED' AS is_shared
FROM appstore.transactions AS t
WHERE t.is_purchased AND (t.in_app_ownership_type <> 'PURCHASED'
                          OR (t.revocation_date IS NOT NULL AND t.revocation_type NOT IN ('REFUND_FULL', 'REFUND_PRORATED')));
UPDATE appstore.transactions AS t
SET is_purchased = false, token_changed = true, left_token = t.first_token
FROM appstore.step_changed AS c
WHERE c.is_shared AND t.transaction_id = c.transaction_id AND t.environment = c.environment;
ALTER TABLE appstore.transactions ADD CONSTRAINT transactions_only_purchased_are_bought
    CHECK (is_purchased = (coalesce(in_app_ownership_type, 'PURCHASED') = 'PURCHASED'));

-- 2. Seats of groups, and commitments.
ALTER TYPE appstore.entitlement ADD ATTRIBUTE seats jsonb, ADD ATTRIBUTE commitment_until timestamptz, ADD ATTRIBUTE commitment_will_renew boolean;
COMMENT ON TYPE appstore.entitlement IS
    'What a user may use at an instant. why is active, grace_period, leeway, or how it ended (entitlement_terms.why_ended); will_renew is null while it '
    'is unknown; until is infinity for an entitlement that does not end; seats is what appstore.seats_of returns.';
ALTER TABLE appstore.transactions ADD COLUMN multi_seat_info jsonb, ADD COLUMN commitment_info jsonb,
    ADD COLUMN additional_transaction_reason text COLLATE "C", ADD COLUMN previous_original_transaction_id text COLLATE "C";

ALTER TABLE appstore.contracts ADD COLUMN renewal_quantity integer, ADD COLUMN renewal_commitment_info jsonb, ADD COLUMN seats_bought integer,
    ADD COLUMN seats_added integer, ADD COLUMN seats_revoked integer, ADD COLUMN commitment_until timestamptz,
    ADD COLUMN commitment_payments_left integer, ADD COLUMN commitment_will_renew boolean,
    ADD COLUMN migrated_from text[] COLLATE "C", ADD COLUMN migrated_to text[] COLLATE "C";
COMMENT ON COLUMN appstore.contracts.migrated_from IS
    'The contracts, mostly one, of which Apple says that they became this one when the app moved them to the Advanced Commerce API; sorted. Their '
    'claims count for this one, too.';
COMMENT ON COLUMN appstore.contracts.migrated_to IS 'The contracts that this one has become; sorted. It has a row for them while nothing else is known.';
COMMENT ON COLUMN appstore.ownership_claims.source_id IS
    'The order of an order claim; the instant of a link, in microseconds since 1970 with 20 digits; the contract of a restored one; else the '
    'transaction. Where posts claim the same again after a user was forgotten, /2 and so on follows. Of a claim to a contract before a migration, '
    '+, that contract and > come first.';
COMMENT ON COLUMN appstore.contracts.will_renew IS
    'Whether the next period will be charged; null while it is unknown. In a commitment it is, also when the customer wants no other one.';
COMMENT ON COLUMN appstore.contracts.renewal_price IS
    'What the renewal will cost, in thousandths of the currency; of seats of a group the sum of their tiers.';
COMMENT ON COLUMN appstore.contracts.renewal_quantity IS 'How many seats of a group will be renewed.';
COMMENT ON COLUMN appstore.contracts.renewal_commitment_info IS
    'Apple''s commitmentInfo of the renewal info, about the commitment after this one: commitmentAutoRenewProductId, commitmentAutoRenewStatus, '
    'commitmentRenewalBillingPlanType, commitmentRenewalDate, commitmentRenewalPrice.';
COMMENT ON COLUMN appstore.contracts.seats_bought IS
    'Seats that were bought for the current period, with those that were added and those that were refunded since; null where it is no group''s, and '
    'of a member.';
COMMENT ON COLUMN appstore.contracts.seats_added IS 'Those of seats_bought that were added in the period.';
COMMENT ON COLUMN appstore.contracts.seats_revoked IS 'Those of seats_bought that Apple refunded.';
COMMENT ON COLUMN appstore.contracts.commitment_until IS
    'Until when the customer has committed to pay by the month; null without a commitment.';
COMMENT ON COLUMN appstore.contracts.commitment_payments_left IS 'How many months of the commitment are not charged yet.';
COMMENT ON COLUMN appstore.contracts.commitment_will_renew IS 'Whether another commitment will follow; null while it is unknown.';
COMMENT ON COLUMN appstore.transactions.price IS
    'What was paid, in thousandths of the currency; of seats of a group the sum of their tiers, since Apple''s price is then the average of a seat.';
COMMENT ON COLUMN appstore.transactions.multi_seat_info IS
    'Apple''s multiSeatInfo, of seats of a group: invitationManagement, priceTiers, revokedSeatQuantity. Who was assigned a seat has the purchaser''s.';
COMMENT ON COLUMN appstore.transactions.commitment_info IS
    'Apple''s commitmentInfo, of a subscription that is charged monthly for a year: billingPeriodNumber, totalBillingPeriods, commitmentExpiresDate, '
    'commitmentPrice.';
COMMENT ON COLUMN appstore.transactions.additional_transaction_reason IS
    'Why the period has several transactions: SEAT_ADDITION. All of them have it, also the first one.';
COMMENT ON COLUMN appstore.transactions.previous_original_transaction_id IS
    'Apple''s previousOriginalTransactionId: the contract before its migration to the Advanced Commerce API.';
COMMENT ON COLUMN appstore.transactions.is_purchased IS
    'Whether the customer paid for it (appstore.is_purchase); else it is shared, assigned, or had in a way that this version does not know.';
COMMENT ON COLUMN appstore.transactions.order_no IS 'Derived: the order that this transaction pays; null where it was not purchased.';
COMMENT ON COLUMN appstore.transactions.token_changed IS
    'Between a merge and its derivation: the transaction names another order than before, or none any longer, or has become purchased, or has '
    'another date, product or app; left_token is the order that it named before.';
COMMENT ON COLUMN appstore.transactions.is_later_copy IS
    'Derived: the ledger has an earlier transaction of the same purchase, by the numbers of their ids, which counts in reports. Those that were '
    'not purchased are compared with one another.';
COMMENT ON COLUMN appstore.transactions.known IS
    'Where the newest JWS lacks members that cannot change and are known, a member for each, by its column: [signed_date in milliseconds, '
    'payload_hash] of the newest JWS that has it, null where only receipts have it. Null in most transactions. Such members are product_type, '
    'in_app_ownership_type, subscription_group_identifier, quantity, original_purchase_date, price, currency, storefront, storefront_id, '
    'transaction_reason, offer_type, offer_identifier, offer_discount_type, offer_period, app_transaction_id and previous_original_transaction_id.';
