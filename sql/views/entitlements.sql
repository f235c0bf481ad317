CREATE VIEW appstore.entitlements AS SELECT * FROM appstore.entitlements_at(now());
COMMENT ON VIEW appstore.entitlements IS
    'The entitlements of each user, active and ended: a row for each contract and entitlement. Two apps that give an entitlement of one '
    'name have a row each.';
