import InboxQueue
import Postgres
import SQL
import Testing

/// What the dispatcher of webhooks reads, of an endpoint with as many exceptions as there are customers, and of others.
extension PlanCase {
    static let delivering: [PlanCase] = [
        PlanCase("lease_endpoints", as: "appstore_worker", before: free) { pool, _ in
            let rows = try await pool.withConnection { try await $0.query(.leaseEndpoints(slots: 20, seconds: 30)) }
            guard rows.count == 20 else { throw WrongCount(found: rows.count) }
        },
        // All of them in one statement, as a worker sends it ten times a second.
        PlanCase("poll_endpoints", as: "appstore_worker", entries: 100, before: held) { pool, _ in
            let names = (1...20).map { "e\($0)" }
            let rows = try await pool.withConnection { connection in
                try await connection.query(
                    .pollEndpoints(names: names, epochs: names.map { _ in 1 }, after: names.map { _ in 0 }, seconds: 30)
                )
            }
            guard rows.count == 20 else { throw WrongCount(found: rows.count) }
        },
        PlanCase("take_deliveries of what is new", as: "appstore_worker", of: 8, before: held) { pool, keys in
            try await take("e2", from: pool, after: Int64(keys.lowerBound), expecting: 9)
        },
        // Eight have failed and are due. What is held is not read.
        PlanCase("take_deliveries beside many exceptions", as: "appstore_worker", of: 8, entries: 150, before: due) { pool, keys in
            let head = try await pool.withConnection { connection in
                try await connection.query("SELECT position FROM appstore.poll_endpoints('{e1}', '{1}', '{0}', 30)")[0]
                    .decode("position", as: Int64.self)
            }
            try await take("e1", from: pool, after: head, expecting: 8)
        },
        PlanCase("settle_deliveries of successes", as: "appstore_worker", of: 50) { pool, keys in
            try await settle("e2", keys, "delivered", on: pool)
        },
        PlanCase("settle_deliveries of failures", as: "appstore_worker", of: 50, entries: 150, pages: 300) { pool, keys in
            try await settle("e1", keys, "failed", on: pool)
        },
        PlanCase("expire_deliveries", as: "appstore_worker", of: 50, before: aged) { pool, _ in
            let rows = try await pool.withConnection { try await MaintenanceTask.ageDeliveries.step(on: $0)?.rows } ?? 0
            guard rows >= 20 else { throw WrongCount(found: rows) }
        },
        // Counts up to ten thousand rows of each kind.
        PlanCase("endpoint_read_statistics", as: "appstore_worker", entries: 14_000, pages: 14_000) { pool, _ in
            _ = try await pool.withConnection { try await $0.query(.endpointReadStatistics()) }
        },
        // Planned each time, and only with statistics by the indexes.
        PlanCase("the latest attempts of an endpoint", as: "appstore_viewer", before: "ANALYZE appstore.delivery_attempts, appstore.feed") {
            pool,
            _ in
            _ = try await pool.withConnection {
                try await $0.query("SELECT * FROM appstore.deliveries WHERE endpoint = 'e1' ORDER BY attempt_id DESC LIMIT 10")
            }
        },
    ]

    private static func take(_ name: String, from pool: ConnectionPool, after: Int64, expecting count: Int) async throws {
        let statement = Statement.takeDeliveries(
            name: name,
            epoch: 1,
            after: after,
            inFlight: [Int64](),
            most: 8,
            mostRedelivered: 4,
            mostBytes: 1_000_000
        )
        let rows = try await pool.withConnection { try await $0.query(statement) }
        guard rows.count == count else { throw WrongCount(found: rows.count) }
    }

    /// Reports about the entries of these customers.
    private static func settle(_ name: String, _ keys: Keys, _ result: String, on pool: ConnectionPool) async throws {
        let (none, noTexts) = (keys.map { _ in nil as Int32? }, keys.map { _ in nil as String? })
        let large = keys.map { _ in nil as Int64? }
        let statement = Statement.settleDeliveries(
            name: name,
            epoch: 1,
            position: nil,
            positions: keys.map { Int64($0) },
            subjects: keys.map { "\($0)" },
            results: keys.map { _ in result },
            attempts: keys.map { _ in 1 as Int32 },
            waitMS: keys.map { _ -> Int64? in result == "failed" ? 3_600_000 : nil },
            statuses: none,
            milliseconds: none,
            answerBytes: large,
            answers: noTexts,
            errors: noTexts,
            redeliveries: large,
            failures: 0,
            isFailing: false,
            openForMS: nil,
            probes: 0,
            disableBecause: nil,
            redeliveredThrough: [Int64](),
            redeliveryIDs: [Int64]()
        )
        let rows = try await pool.withConnection { try await $0.query(statement) }
        #expect(try rows[0].decode(0, as: Bool.self))
    }

    private static let free = "UPDATE appstore.endpoints SET leased_until = NULL;"
    private static let held = """
        UPDATE appstore.endpoints SET epoch = 1, state = 'enabled', why = NULL, leased_until = now() + interval '1 hour';
        """
    /// The cursor is at the end. Eight deliveries are due.
    private static let due = """
        \(held)
        UPDATE appstore.endpoints SET position = (SELECT position FROM appstore.feed_head) WHERE name = 'e1';
        UPDATE appstore.open_deliveries SET run_at = now() WHERE endpoint = 'e1' AND position = ANY (ARRAY(
            SELECT position FROM appstore.open_deliveries WHERE attempts = 1 AND given_up_at IS NULL ORDER BY position LIMIT 8));
        """
    /// Twenty attempts that no walk has passed.
    private static let aged = """
        UPDATE appstore.delivery_attempts SET at = now() - interval '31 days'
        WHERE attempt_id = ANY (ARRAY(
            SELECT a.attempt_id FROM appstore.delivery_attempts AS a
            WHERE a.attempt_id > coalesce((SELECT max(s.event_id) FROM appstore.maintenance_state AS s WHERE s.task LIKE '%deliveries'), 0)
            ORDER BY a.attempt_id LIMIT 20));
        """
}
