import Postgres
import PostgresTesting

extension TestDatabase {
    /// Takes steps of the sequencer as a worker, until nothing is left or another session takes one.
    package func sequenceFeed() async throws {
        try await withConnection(user: "appstore_worker") { connection in
            while try await connection.query("SELECT s.has_more FROM appstore.sequence_feed() AS s")[0].decode("has_more") {}
        }
    }

    /// What is wrong with a feed that was on from the begin and is sequenced: effects that are missing or told twice, a gap, an id that is told
    /// twice, and users whose last `access.changed` differs from `appstore.entitlements`.
    package func feedViolations() async throws -> [String] {
        try await lines(
            """
            SELECT 'effect missing or told twice: ' || e.effect_id FROM appstore.effect_log AS e
            WHERE (SELECT count(*) FROM appstore.feed AS f WHERE f.id = e.effect_id AND f.type = 'effect.' || e.kind) <> 1
            UNION ALL
            SELECT 'gap before ' || f.position FROM (SELECT f.position, lag(f.position, 1, 0::bigint) OVER (ORDER BY f.position) AS before FROM appstore.feed AS f) AS f
            WHERE f.position <> f.before + 1
            UNION ALL
            SELECT 'told twice: ' || f.id FROM appstore.feed AS f GROUP BY f.id HAVING count(*) > 1
            UNION ALL
            SELECT 'access differs: ' || coalesce(t::text, e::text)
            FROM (SELECT DISTINCT ON (f.environment, f.subject, f.user_id, f.data ->> 'entitlement') f.environment, f.subject, f.user_id, f.data
                  FROM appstore.feed AS f WHERE f.type = 'access.changed'
                  ORDER BY f.environment, f.subject, f.user_id, f.data ->> 'entitlement', f.position DESC) AS t
            FULL JOIN appstore.entitlements AS e
                ON e.environment = t.environment AND e.original_transaction_id = t.subject AND e.user_id = t.user_id
                   AND e.entitlement = t.data ->> 'entitlement'
            WHERE coalesce(e.active, false) <> coalesce((t.data ->> 'active')::boolean, false)
               OR e.user_id IS NOT NULL AND t.user_id IS NULL
               OR e.active AND (e.until, e.why) IS DISTINCT FROM (coalesce((t.data ->> 'until')::timestamptz, 'infinity'), t.data ->> 'why')
            """
        )
    }
}
