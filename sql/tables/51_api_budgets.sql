-- What the workers may ask Apple's App Store Server API. Apple limits each endpoint for each app and environment, and counts by the hour.

CREATE TABLE appstore.api_budgets (
    bundle_id      text        NOT NULL COLLATE "C",
    environment    appstore.environment NOT NULL,
    endpoint       text        NOT NULL COLLATE "C",
    setting        double precision NOT NULL,
    lowered_to     double precision,
    last_429_at    timestamptz,
    tokens         double precision NOT NULL,
    refilled_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
    blocked_until  timestamptz,
    hour_began     timestamptz NOT NULL DEFAULT date_trunc('hour', clock_timestamp(), 'UTC'),
    used_this_hour bigint      NOT NULL DEFAULT 0,
    last_class     smallint,
    PRIMARY KEY (bundle_id, environment, endpoint),
    CONSTRAINT api_budgets_endpoint_is_a_name CHECK (endpoint ~ '^[a-z][a-z0-9_]{0,62}$'),
    CONSTRAINT api_budgets_setting_is_a_rate CHECK (setting > 0 AND setting < 1000),
    CONSTRAINT api_budgets_tokens_are_there CHECK (tokens >= 0),
    CONSTRAINT api_budgets_lowered_by_429 CHECK ((lowered_to IS NULL) = (last_429_at IS NULL) AND (lowered_to > 0) IS NOT FALSE)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500);
COMMENT ON TABLE appstore.api_budgets IS
    'The budget of each app, environment and endpoint, which all workers share: a token is a request. appstore.take_api_budget spends them.';
COMMENT ON COLUMN appstore.api_budgets.endpoint IS 'The endpoint, such as consumption.';
COMMENT ON COLUMN appstore.api_budgets.setting IS 'Requests a second that the settings of the worker allow, a share of what Apple documents.';
COMMENT ON COLUMN appstore.api_budgets.lowered_to IS 'Requests a second after the latest 429; from then on a tenth of the setting is added each hour.';
COMMENT ON COLUMN appstore.api_budgets.last_429_at IS 'When Apple said last that the limit was exceeded.';
COMMENT ON COLUMN appstore.api_budgets.tokens IS 'Requests that were left at refilled_at; a second''s worth at most, and five where that is less.';
COMMENT ON COLUMN appstore.api_budgets.refilled_at IS 'Until when tokens were added. After a 429 the end of the block.';
COMMENT ON COLUMN appstore.api_budgets.blocked_until IS 'Nothing is asked before.';
COMMENT ON COLUMN appstore.api_budgets.hour_began IS 'The hour of used_this_hour.';
COMMENT ON COLUMN appstore.api_budgets.used_this_hour IS 'Requests that workers have taken since hour_began.';
COMMENT ON COLUMN appstore.api_budgets.last_class IS 'The class that took last: 0 deadline, 1 interactive, 2 reconcile, 3 history, 4 import.';
