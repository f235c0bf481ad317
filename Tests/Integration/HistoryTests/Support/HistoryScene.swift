import AppStore
import Foundation
import InboxTesting
import Metrics
import OpenSSL
import Outbox
import Postgres
import PostgresTesting
import ServerAPI
import ServiceSupport

@testable import Backfill

/// A database, a made-up history of one app, and walks that a test runs step by step.
struct HistoryScene: Sendable {
    static let lane = CallLane("com.example.app", .production)

    let database: TestDatabase
    let apple = MadeUpHistory()
    let pool: ConnectionPool
    let client: ServerAPIClient
    /// The database's clock at the beginning.
    let now: Timestamp

    static func with(_ body: (HistoryScene) async throws -> Void) async throws {
        let database = try await InboxDatabase.make()
        // SQL that breaks a promise, to see tests fail.
        if let sabotage = ProcessInfo.processInfo.environment["HISTORY_SABOTAGE"] {
            try await database.withConnection { try await $0.runScript(sabotage) }
        }
        let pool = try database.pool(user: "appstore_worker", connections: 8)
        let keys = APIKeys([APIKey(id: .init(issuer: "issuer", keyID: "key"), privateKey: try PrivateKey.generate(.p256))], lanes: [lane])
        let milliseconds = try await database.withConnection { connection in
            try await connection.query("SELECT extract(epoch FROM clock_timestamp())::bigint * 1000")[0].decode(0, as: Int64.self)
        }
        let now = Timestamp(millisecondsSince1970: milliseconds)
        let client = ServerAPIClient(keys: { keys }, budget: UnlimitedBudget(), logger: .silent, now: { now })
        try await body(HistoryScene(database: database, pool: pool, client: client, now: now))
        await pool.close()
    }

    var store: HistoryStore { HistoryStore(pool: pool, leaseSeconds: 120) }

    func service(beat: @escaping @Sendable () -> Void = {}) -> HistoryService {
        var configuration = HistoryService.Configuration()
        configuration.pollPause = .milliseconds(5)
        configuration.planPause = .milliseconds(20)
        return HistoryService(
            pool: pool,
            client: client,
            configuration: configuration,
            logger: .silent,
            heartbeat: { LoopHeartbeat(beat: beat, finish: {}) },
            exchange: apple.exchange
        )
    }

    /// - Parameter beat: called before each step.
    func walk(_ window: HistoryWindow, beat: @escaping @Sendable () -> Void = {}) async throws -> HistoryWalk.End {
        try await HistoryWalk(
            store: store,
            client: client,
            exchange: apple.exchange,
            backoff: Backoff(base: .seconds(60), cap: .seconds(3600)),
            metrics: HistoryMetrics(factory: NOOPMetricsHandler.instance),
            logger: .silent,
            beat: beat
        ).run(window)
    }

    /// Makes windows and reads those that are due, until none is.
    func drain() async throws {
        try await store.plan([Self.lane])
        while true {
            let windows = try await store.lease([Self.lane], near: 1, days: 1)
            if windows.isEmpty { return }
            for window in windows { _ = try await walk(window) }
        }
    }

    /// Leases one window.
    func lease() async throws -> HistoryWindow? { try await store.lease([Self.lane], near: 0, days: 1).first }

    /// Ends back-offs, and the leases of walks that were cut short.
    func makeDue() async throws {
        try await execute("UPDATE appstore.history_windows SET run_at = clock_timestamp() WHERE state = 'open'")
    }

    /// Makes windows, and leaves one of them: from 96 to 72 hours ago.
    func keepOneDay() async throws {
        try await store.plan([Self.lane])
        try await execute(
            """
            DELETE FROM appstore.history_windows
            WHERE window_id <> (SELECT window_id FROM appstore.history_windows WHERE kind = 'day' ORDER BY ends_at DESC OFFSET 3 LIMIT 1)
            """
        )
        let (start, end) = (ago(96).millisecondsSince1970, ago(72).millisecondsSince1970)
        try await execute(
            "UPDATE appstore.history_windows SET starts_at = to_timestamp(\(start)::float8 / 1000), ends_at = to_timestamp(\(end)::float8 / 1000)"
        )
    }

    /// An instant so many hours before now.
    func ago(_ hours: Double) -> Timestamp { now.advanced(by: .milliseconds(Int64(-hours * 3_600_000))) }

    /// A record that was signed then, and whose attempts, a second later, ended so.
    func record(_ hoursAgo: Double, _ result: String = "TIMED_OUT") -> MadeUpHistory.Record {
        let signedAt = ago(hoursAgo)
        return MadeUpHistory.Record(signedAt: signedAt, attempts: [(signedAt.advanced(by: .seconds(1)), result)])
    }

    /// Puts a record into the inbox as if Apple had posted it.
    func push(_ record: MadeUpHistory.Record) async throws {
        try await database.withConnection(user: "appstore_ingest") { connection in
            _ = try await connection.query("SELECT appstore.receive(ARRAY[\(record.body)::bytea])")
        }
    }

    /// Settles what waits, in the order of arrival, as a worker would: the first event of a UUID is applied, others are duplicates.
    func work() async throws {
        try await execute(
            """
            DO $$
            DECLARE
                e record; p jsonb; part text; r appstore.result;
            BEGIN
                FOR e IN SELECT i.*, q.run FROM appstore.inbox_queue AS q JOIN appstore.inbox AS i USING (event_id) ORDER BY event_id LOOP
                    part := translate(split_part(convert_from(e.body, 'UTF8')::jsonb ->> 'signedPayload', '.', 2), '-_', '+/');
                    p := convert_from(decode(rpad(part, (length(part) + 3) / 4 * 4, '='), 'base64'), 'UTF8')::jsonb;
                    IF p ? 'forged' THEN
                        r := 'rejected';
                    ELSE
                        INSERT INTO appstore.seen_notifications (environment, notification_uuid, first_event_id)
                        VALUES ('Production', (p ->> 'notificationUUID')::uuid, e.event_id) ON CONFLICT DO NOTHING;
                        r := CASE WHEN FOUND THEN 'applied' ELSE 'duplicate' END;
                    END IF;
                    PERFORM appstore.settle('{}', ARRAY[e.event_id], ARRAY[e.source], ARRAY[e.received_at], ARRAY[e.run], ARRAY[1], ARRAY[r],
                        ARRAY[CASE r WHEN 'rejected' THEN 'forged' END], ARRAY[NULL]::text[], ARRAY['TEST'], ARRAY[NULL]::text[],
                        ARRAY[(p ->> 'notificationUUID')::uuid], ARRAY['Production'], ARRAY['com.example.app'], ARRAY[NULL]::text[],
                        ARRAY[NULL]::text[]);
                END LOOP;
            END
            $$
            """
        )
    }

    func execute(_ statement: Statement) async throws {
        try await database.withConnection { _ = try await $0.query(statement) }
    }

    func lines(_ statement: Statement) async throws -> [String] { try await database.lines(statement) }

    /// The class of each record, by UUID in lower case; with a question mark while it is open.
    func classes() async throws -> [String: String] {
        let rows = try await database.withConnection { connection in
            try await connection.query(
                "SELECT notification_uuid::text AS u, class || CASE WHEN is_open THEN '?' ELSE '' END AS c FROM appstore.history_records"
            )
        }
        return try Dictionary(uniqueKeysWithValues: rows.map { (try $0.decode("u"), try $0.decode("c")) })
    }

    func `class`(of record: MadeUpHistory.Record) async throws -> String? {
        try await classes()[record.uuid.uuidString.lowercased()]
    }

    /// How many events of each source the inbox has for each notificationUUID: `uuid history_v2 1`.
    func events() async throws -> [String] {
        try await lines(
            """
            SELECT concat_ws(' ', p ->> 'notificationUUID', i.source, count(*)) FROM appstore.inbox AS i
            CROSS JOIN LATERAL (SELECT translate(split_part(convert_from(i.body, 'UTF8')::jsonb ->> 'signedPayload', '.', 2), '-_', '+/') AS t) AS t
            CROSS JOIN LATERAL (SELECT convert_from(decode(rpad(t, (length(t) + 3) / 4 * 4, '='), 'base64'), 'UTF8')::jsonb AS p) AS p
            GROUP BY p ->> 'notificationUUID', i.source ORDER BY 1
            """
        )
    }

    /// The windows without their clocks, and the cursor: what an error must leave as it was.
    func standing() async throws -> [String] {
        try await lines(
            """
            SELECT concat_ws(' ', window_id, kind, starts_at, ends_at, state, coalesce(token, '-'), pages, listed, stored)
            FROM appstore.history_windows UNION ALL
            SELECT concat_ws(' ', near_until, second_until, since, coalesce(edge::text, '-'), covered) FROM appstore.history_cursors ORDER BY 1
            """
        )
    }
}
