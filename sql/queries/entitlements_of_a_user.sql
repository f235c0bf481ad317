-- What may a user use now?
SELECT entitlement, active, until, why FROM appstore.entitlements WHERE environment = 'Production' AND user_id = 'user-1';
