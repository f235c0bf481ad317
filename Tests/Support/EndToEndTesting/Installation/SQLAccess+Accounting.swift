import Postgres

/// Invariants of the inbox.
extension SQLAccess {
    /// Throws unless each event of the inbox is in exactly one of queue and outcomes. May run beside the daemons.
    package func expectEachEventAccountedFor() async throws {
        let unaccounted = try await unaccountedEvents()
        guard unaccounted.isEmpty else { throw ProgramFailure(what: unaccounted.joined(separator: "; ")) }
    }

    /// Events that are not in exactly one of queue and outcomes, and queue rows and outcomes without an event.
    private func unaccountedEvents() async throws -> [String] {
        try await values(
            """
            SELECT coalesce(i.event_id, s.event_id)::text || ' is in the inbox ' || count(DISTINCT i.event_id)
                   || ' times, in queue and outcomes ' || count(s.event_id) || ' times'
            FROM appstore.inbox AS i
            FULL JOIN (SELECT event_id FROM appstore.inbox_queue UNION ALL SELECT event_id FROM appstore.outcomes) AS s USING (event_id)
            GROUP BY coalesce(i.event_id, s.event_id)
            HAVING count(DISTINCT i.event_id) <> 1 OR count(s.event_id) <> 1
            """
        )
    }
}
