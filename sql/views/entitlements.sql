CREATE OR REPLACE VIEW appstore.entitlements AS SELECT * FROM appstore.entitlements_at(now());
COMMENT ON VIEW appstore.entitlements IS
    'The entitlements of each user, active and ended: a row for each contract and entitlement. Two apps that give an entitlement of one '
    'name have a row each.';
COMMENT ON COLUMN appstore.entitlements.entitlement IS 'The name in appstore.products, else the product''s.';
COMMENT ON COLUMN appstore.entitlements.active IS 'Whether the user may use it now.';
COMMENT ON COLUMN appstore.entitlements.until IS
    'The end by Apple''s facts, after which it is still active while why is leeway: infinity where it does not end; null while the purchase or its '
    'duration is unknown.';
COMMENT ON COLUMN appstore.entitlements.why IS 'active, grace_period, leeway (it has ended, and its renewal is awaited), or how it ended: see entitlement_terms.why_ended.';
COMMENT ON COLUMN appstore.entitlements.in_grace IS 'Whether it is active although the last charge failed.';
COMMENT ON COLUMN appstore.entitlements.will_renew IS 'Whether the next period will be charged; null while it is unknown.';
COMMENT ON COLUMN appstore.entitlements.seats IS
    'Of the purchaser of a group: bought, added, revoked, renewing and invitations (appstore.seats_of); null without seats.';
COMMENT ON COLUMN appstore.entitlements.commitment_until IS
    'Until when the customer has committed to pay by the month; null without a commitment.';
COMMENT ON COLUMN appstore.entitlements.commitment_will_renew IS 'Whether another commitment will follow; null while it is unknown.';
