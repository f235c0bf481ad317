CREATE OR REPLACE VIEW appstore.history_gaps AS
SELECT w.bundle_id, w.environment, w.window_id, w.kind, w.starts_at, w.ends_at,
       CASE WHEN w.last_error IS NOT NULL THEN w.last_error
            WHEN c.mode = 'off' THEN 'off'
            WHEN w.is_leased AND w.run_at > statement_timestamp() THEN 'reading'
            WHEN w.run_at < statement_timestamp() - interval '10 minutes' THEN 'no_worker'
            ELSE 'waiting' END AS why,
       w.made_at, w.failing_since, w.failures, w.restarts, w.pages, w.listed, w.stored, w.run_at AS next_run_at
FROM appstore.history_windows AS w
JOIN appstore.history_cursors AS c ON c.bundle_id = w.bundle_id AND c.environment = w.environment
WHERE w.state = 'open';
COMMENT ON VIEW appstore.history_gaps IS 'The windows of Apple''s notification history that are not complete, and why.';
COMMENT ON COLUMN appstore.history_gaps.window_id IS 'The number of the window.';
COMMENT ON COLUMN appstore.history_gaps.kind IS 'near: the latest time; day: a day of the past; second: the second walk of a day, after eight days.';
COMMENT ON COLUMN appstore.history_gaps.starts_at IS 'Its start.';
COMMENT ON COLUMN appstore.history_gaps.ends_at IS 'Its end.';
COMMENT ON COLUMN appstore.history_gaps.why IS
    'The reason of the latest attempt that brought no page, such as rate_limited, http_503, token_missing, token_too_long, token_repeated or answer_of_another_app; '
    'else waiting, reading, off, or no_worker: none with a key of the app has had room for ten minutes.';
COMMENT ON COLUMN appstore.history_gaps.made_at IS 'When the window was made.';
COMMENT ON COLUMN appstore.history_gaps.failing_since IS 'Its first failure since its last page; null where it only waits.';
COMMENT ON COLUMN appstore.history_gaps.failures IS 'Failures since its last page.';
COMMENT ON COLUMN appstore.history_gaps.restarts IS 'How often its token was refused.';
COMMENT ON COLUMN appstore.history_gaps.pages IS 'Pages that were read.';
COMMENT ON COLUMN appstore.history_gaps.listed IS 'Records on these pages.';
COMMENT ON COLUMN appstore.history_gaps.stored IS 'Records that became an event.';
COMMENT ON COLUMN appstore.history_gaps.next_run_at IS 'When it is due, or the end of its lease.';
