-- Lists the sessions of the console before :before, latest first; from the latest one where :before is null.
-- The console's page Sessions sends it, as appstore_viewer.
-- Returns at most :limit rows.
SELECT s.session_id, s.person, s.role, s.shows_bodies, s.began_at, coalesce(s.ended_at, s.expires_at) AS ends_at,
       CASE WHEN s.ended_at IS NOT NULL THEN 'ended' WHEN s.expires_at <= statement_timestamp() THEN 'expired' ELSE 'living' END AS state
FROM appstore.console_sessions AS s
WHERE s.session_id < coalesce(:before::bigint /* null */, 9223372036854775807)
ORDER BY s.session_id DESC LIMIT :limit::integer;
