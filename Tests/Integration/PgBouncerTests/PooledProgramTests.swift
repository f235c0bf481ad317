import EndToEndTesting
import Postgres
import PostgresTesting
import Testing

/// The built program, whose daemons and commands connect only to the pooler. Skipped where PgBouncer is not installed.
@Suite(.enabled(if: PgBouncer.isInstalled, "PgBouncer is not installed"), .timeLimit(.minutes(3)))
struct PooledProgramTests {
    @Test func `the built program receives, settles, repairs and reports without named statements`() async throws {
        var shop = try Shop()
        let bodies = try shop.bodies(shop.purchases(40))
        try await PooledInstallation.lend { pooled in
            let sql = pooled.installation.sql
            try await pooled.withDaemons(for: shop) { ingest in
                #expect(try await post(bodies, to: ingest.client) == bodies.map { _ in 200 })
                let events = try await sql.settled(bodies.count, within: .seconds(60))
                #expect(events.map(\.outcome) == bodies.map { _ in "applied" })
                #expect(try await sql.values("SELECT DISTINCT run::text FROM appstore.outcomes") == ["1"])

                let first = events[0].eventID
                let requeued = try await pooled.command(["requeue", "\(first)", "--note", "look again"])
                #expect((requeued.ending, requeued.output) == (.exit(0), "1 event is requeued (1 applied).\n"), "\(requeued.errors)")
                try await eventually("it has run twice", within: .seconds(60)) {
                    try await sql.values("SELECT event_id::text FROM appstore.outcomes WHERE run = 2") == ["\(first)"]
                }
                #expect(try await sql.settled(bodies.count).map(\.outcome) == bodies.map { _ in "applied" })
                let history = try await sql.values(
                    "SELECT concat_ws(' ', event_id, run, result, replaced_by) FROM appstore.outcome_history"
                )
                #expect(history == ["\(first) 1 applied appstore_operator"])
            }

            let requeuer = try await pooled.sessions(of: "operator")
            #expect(requeuer.map(\.program) == ["appstore-inbox requeue"])
            let status = try await pooled.command(["status", "--json"])
            #expect(status.ending == .exit(0), "\(status.errors)")
            let document = try status.json()
            #expect((document.number("ready"), document.number("waiting")) == ("0", "0"))
            #expect(document.document("outcomes")?.number("applied") == "\(bodies.count)")

            // A session that outlives its program, or serves another one, belongs to the pooler.
            #expect(
                try await pooled.sessions(of: "operator")
                    == requeuer.map { ServerSession(processID: $0.processID, program: "appstore-inbox status") }
            )
            for daemon in ["ingest", "worker"] {
                let sessions = try await pooled.sessions(of: daemon)
                #expect(sessions.contains { $0.program == "appstore-inbox \(daemon)" }, "\(sessions)")
            }
            for role in ["ingest", "worker", "operator"] {
                let sessions = try await pooled.sessions(of: role)
                #expect((1...PgBouncer.poolSize).contains(sessions.count), "\(sessions)")
                #expect(try await pooled.namedStatements(of: role, inSessions: sessions.count) == sessions.map { _ in 0 })
            }
        }
    }

    /// Posts on several connections at once, and returns the statuses.
    private func post(_ bodies: [[UInt8]], to client: HTTPClient) async throws -> [Int] {
        try await withThrowingTaskGroup(of: [Int].self) { tasks in
            for start in stride(from: 0, to: bodies.count, by: 10) {
                let part = Array(bodies[start..<min(start + 10, bodies.count)])
                tasks.addTask { try await client.post(part).map(\.status) }
            }
            var statuses: [Int] = []
            for try await part in tasks { statuses += part }
            return statuses
        }
    }
}

/// An installation of the built program behind a pooler.
private struct PooledInstallation {
    let installation: Installation
    let bouncer: PgBouncer

    static func lend(_ body: (PooledInstallation) async throws -> Void) async throws {
        try await Installation.lend { installation in
            try await PgBouncer.run(before: installation.database) { bouncer in
                try await body(PooledInstallation(installation: installation, bouncer: bouncer))
            }
        }
    }

    /// Runs both daemons while `body` runs, and awaits their end.
    func withDaemons(for shop: Shop, _ body: (Ingest) async throws -> Void) async throws {
        let settings = ["APPSTORE_INBOX_PREPARED": "off"]
        let ingest = try await installation.startIngest(settings.merging(url(of: "ingest")) { $1 })
        // One server connection is left for the statements of a batch outside its transaction.
        let concurrency = ["APPSTORE_INBOX_CONCURRENCY": "\(PgBouncer.poolSize - 1)"]
        let worker = try await installation.startWorker(for: shop, settings.merging(url(of: "worker")) { $1 }.merging(concurrency) { $1 })
        do {
            try await body(ingest)
        } catch {
            // Newer poolers end only after their clients have disconnected.
            for daemon in [ingest.daemon, worker] { try await daemon.kill() }
            throw error
        }
        for daemon in [ingest.daemon, worker] { #expect(try await daemon.terminate() == .exit(0), "\(daemon.log)") }
    }

    /// Runs an operator's command to its end.
    func command(_ arguments: [String]) async throws -> Program.Result {
        try await Program.run(arguments, settings: url(of: "operator").merging(["APPSTORE_INBOX_PREPARED": "off"]) { $1 })
    }

    private func url(of role: String) -> [String: String] {
        ["APPSTORE_INBOX_DATABASE_URL": bouncer.url(installation.database, user: "appstore_\(role)")]
    }

    /// The server sessions of a role, read without the pooler.
    func sessions(of role: String) async throws -> [ServerSession] {
        try await installation.sql.rows(
            """
            SELECT pid, application_name FROM pg_stat_activity
            WHERE datname = current_database() AND usename = \("appstore_\(role)")::text ORDER BY pid
            """
        ).map { ServerSession(processID: try $0.decode("pid"), program: try $0.decode("application_name")) }
    }

    /// The number of named statements in each of this many sessions. They are held at once, so that all are different.
    func namedStatements(of role: String, inSessions count: Int) async throws -> [Int] {
        guard count > 0 else { return [] }
        let options = try bouncer.options(installation.database, user: "appstore_\(role)")
        let connection = try await Connection.open(options, logger: .silent)
        let found = try await connection.withTransaction { transaction in
            let rows = try await transaction.query("SELECT count(*) FROM pg_prepared_statements WHERE name <> ''")
            return [try rows[0].decode(0, as: Int.self)] + (try await self.namedStatements(of: role, inSessions: count - 1))
        }
        await connection.close()
        return found
    }
}

/// A session at the server, and the last program that used it.
private struct ServerSession: Hashable {
    let processID: Int32
    let program: String
}
