-- breaking: a worker of the release before calls appstore.apply_facts without the two arrays
ALTER TABLE appstore.effect_log ADD COLUMN bundle_id text COLLATE "C", ADD COLUMN details jsonb;
COMMENT ON COLUMN appstore.effect_log.subject IS
    'The identity of what happened: a purchase, a refund of it by its number (0 is the first, 1 the one after the first reversal), a transaction, a '
    'transaction and how many of its seats are revoked, a notificationUUID.';
COMMENT ON COLUMN appstore.effect_log.bundle_id IS 'The app, where no transaction of the effect names it; else null.';
COMMENT ON COLUMN appstore.effect_log.details IS
    'What only this notification says: identifiers, dates and counts, by kind; never a user. Null where it says nothing else.';
