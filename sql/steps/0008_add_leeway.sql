-- How long access stays active while a renewal is awaited.
CREATE TABLE appstore.access_settings (
    is_only boolean  NOT NULL DEFAULT true PRIMARY KEY,
    leeway  interval NOT NULL DEFAULT '0',
    CONSTRAINT access_settings_is_one_row CHECK (is_only),
    CONSTRAINT access_settings_leeway_within_limits CHECK (leeway BETWEEN interval '0' AND interval '72 hours'),
    -- A day would depend on the session's time zone.
    CONSTRAINT access_settings_leeway_without_days CHECK (extract(day FROM leeway) = 0)
);
INSERT INTO appstore.access_settings DEFAULT VALUES;
COMMENT ON TABLE appstore.access_settings IS 'One row of settings of what is active, which appstore.set_leeway changes.';
COMMENT ON COLUMN appstore.access_settings.is_only IS 'Always true: the key of the only row.';
COMMENT ON COLUMN appstore.access_settings.leeway IS
    'How long access stays active after the end of a period that will renew, while Apple has said nothing of the renewal; 0 for not at all.';
COMMENT ON TYPE appstore.entitlement IS
    'What a user may use at an instant. why is active, grace_period, leeway, or how it ended (entitlement_terms.why_ended); will_renew is null while it '
    'is unknown; until is infinity for an entitlement that does not end.';
