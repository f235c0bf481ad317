-- The schema of reports, which has views and functions only, and the rates that the operator may give them.

CREATE SCHEMA appstore_reports;
COMMENT ON SCHEMA appstore_reports IS
    'Reports of appstore-inbox: subscriptions, MRR, churn, trials, retention and refunds, in UTC. Created and owned by appstore-inbox migrate. '
    'A login as appstore_reporter may read it and nothing else.';

CREATE TABLE appstore.fx_rates (
    currency text    NOT NULL COLLATE "C",
    day      date    NOT NULL,
    per_unit numeric NOT NULL,
    PRIMARY KEY (currency, day),
    CONSTRAINT fx_rates_per_unit_positive CHECK (per_unit > 0)
);
COMMENT ON TABLE appstore.fx_rates IS
    'Exchange rates for reports: rows that the operator writes. A rate holds until the next one of its currency; US dollars need none. Without '
    'a rate a figure in US dollars is null.';
COMMENT ON COLUMN appstore.fx_rates.day IS 'The day (UTC) from which the rate holds.';
COMMENT ON COLUMN appstore.fx_rates.per_unit IS 'US dollars for one unit of the currency.';
