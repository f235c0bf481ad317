import HTTPServingTesting
import Ingest
import Postgres
import PostgresTesting
import Testing

/// Ingest beside a synchronous standby that is away: the server works, and no commit is confirmed.
@Suite(.timeLimit(.minutes(2)))
struct StandbyTests {
    private static let readyz = "GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n"

    /// Has each commit wait for a standby that never comes, or for none.
    private func setStandby(isAwaited: Bool, in database: TestDatabase) async throws {
        let admin = try await Connection.open(ConnectionOptions(database.url()), logger: .silent)
        try await admin.runScript("ALTER SYSTEM SET synchronous_standby_names = '\(isAwaited ? "absent" : "")'")
        _ = try await admin.query("SELECT pg_reload_conf()")
        while try await admin.query("SELECT FROM pg_settings WHERE name = 'synchronous_standby_names' AND setting = ''").isEmpty
            != isAwaited
        {}
        if isAwaited { try await awaitFirstWait(in: database, admin) }
        await admin.close()
    }

    /// Commits until one waits for the standby: commits do so once the checkpointer has read the setting, which is after sessions have.
    private func awaitFirstWait(in database: TestDatabase, _ admin: Connection) async throws {
        let committing = try await Connection.open(ConnectionOptions(database.url()), logger: .silent)
        let backend = try await committing.query("SELECT pg_backend_pid()")[0].decode(0, as: Int32.self)
        let commits = Task {
            while true { try await committing.runScript("SELECT pg_current_xact_id()") }
        }
        while try await admin.query("SELECT FROM pg_stat_activity WHERE pid = \(backend) AND wait_event = 'SyncRep'").isEmpty {}
        _ = try await admin.query("SELECT pg_terminate_backend(\(backend))")
        let end = await commits.result
        #expect(throws: (any Error).self) { try end.get() }
        await committing.close()
    }

    /// The sessions of ingest that wait for the standby.
    private func waitingCommits(_ database: TestDatabase) async throws -> Int {
        try await database.query("SELECT FROM pg_stat_activity WHERE usename = 'appstore_ingest' AND wait_event = 'SyncRep'").count
    }

    /// Transactions that were rolled back, as those of refused probes are.
    private func rolledBack(_ database: TestDatabase) async throws -> Int64 {
        try await database.query("SELECT xact_rollback FROM pg_stat_database WHERE datname = current_database()")[0].decode(0)
    }

    @Test func `a commit that no standby confirms is refused in time, and never cancelled`() async throws {
        let cluster = try await TestCluster.startPrivate()
        let database = try await TestDatabase.migrated(in: cluster)
        try await RunningServer.run(
            database: database,
            committer: { ($0.commitTimeout, $0.probeTimeout) = (.seconds(2), .seconds(1)) }
        ) { server in
            func post(_ number: Int) async throws -> RawResponse {
                try await server.exchange(SampleNotification.post(SampleNotification.body(number)))
            }
            #expect(try await post(1).status == 200)
            try await setStandby(isAwaited: true, in: database)

            let start = ContinuousClock.now
            let refusal = try await post(2)
            #expect(refusal.status == 503)
            #expect(refusal.body.contains("not-committed"), "it may be stored: \(refusal.body)")
            #expect(start.duration(to: .now) < .seconds(10))
            for number in 3...5 { #expect(try await post(number).status == 503) }
            #expect(try await server.storedBodies().count == 1, "what was answered with 200")

            // Each probe that commits would add a session that waits.
            let probes = try await rolledBack(database)
            while try await rolledBack(database) < probes + 10, try await waitingCommits(database) == 1 {
                #expect(try await server.exchange(Self.readyz).status == 503)
            }
            #expect(try await waitingCommits(database) == 1, "one commit, which was not cancelled")
            #expect(try await server.storedBodies().count == 1)

            try await setStandby(isAwaited: false, in: database)
            while try await server.exchange(Self.readyz).status != 200 {}
            #expect(try await post(6).status == 200)
            // Two were answered with 200, and one was said to be uncertain.
            #expect(try await server.storedBodies().count == 3)
            #expect(try await waitingCommits(database) == 0)
        }
        await cluster.stop()
    }
}
