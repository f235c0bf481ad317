import AppStore
import FoundationEssentials
import InboxTesting
import OpenSSL
import Outbox
import Postgres
import PostgresTesting
import ServerAPI
import ServiceSupport

@testable import Backfill
@testable import Commands

/// A database, made-up customers of one app, and imports of them.
struct ImportScene: Sendable {
    static let apps: Set = [CallLane("com.example.app", .production), CallLane("com.example.app", .sandbox)]

    let database: TestDatabase
    let apple = MadeUpCustomers()
    let pool: ConnectionPool
    let client: ServerAPIClient
    let lanes = newLanes

    static func with(_ body: (ImportScene) async throws -> Void) async throws {
        let database = try await InboxDatabase.make()
        let pool = try database.pool(user: "appstore_worker", connections: 8)
        let keys = APIKeys([APIKey(id: .init(issuer: "issuer", keyID: "key"), privateKey: try PrivateKey.generate(.p256))], lanes: apps)
        let now = Timestamp(millisecondsSince1970: Int64(Date().timeIntervalSince1970 * 1000))
        let client = ServerAPIClient(keys: { keys }, budget: UnlimitedBudget(), logger: .silent, now: { now })
        try await body(ImportScene(database: database, pool: pool, client: client))
        await pool.close()
    }

    /// What a process that starts knows.
    static var newLanes: ImportLanes { ImportLanes(perLane: 16, backoff: Backoff(base: .seconds(60), cap: .seconds(3600))) }

    var store: ImportStore { ImportStore(pool: pool, leaseSeconds: 120) }

    func service(slots: Int = 4) -> ImportService {
        var configuration = ImportService.Configuration()
        configuration.pollPause = .milliseconds(5)
        configuration.slots = slots
        return ImportService(pool: pool, client: client, configuration: configuration, logger: .silent, exchange: apple.exchange)
    }

    func walk(_ chunk: ImportChunk, lanes: ImportLanes? = nil, beat: @escaping @Sendable () -> Void = {}) async throws -> ImportWalk.End {
        try await ImportWalk(
            store: store,
            client: client,
            exchange: apple.exchange,
            lanes: lanes ?? self.lanes,
            backoff: Backoff(base: .seconds(60), cap: .seconds(3600)),
            logger: .silent,
            beat: beat
        ).run(chunk)
    }

    /// Leases up to that many chunks of each environment and depth.
    func lease(_ count: Int = 1) async throws -> [ImportChunk] {
        // What the first one makes may belong to the other environment.
        for _ in 0..<2 {
            let lanes = Self.apps.sorted().flatMap { app in ImportChunk.Depth.allCases.map { ImportLane(app: app, depth: $0) } }
            let chunks = try await store.lease(lanes.map { ($0, count) })
            if !chunks.isEmpty { return chunks }
        }
        return []
    }

    /// Asks until nothing is due, or nothing can be asked.
    func drain() async throws {
        while true {
            let chunks = try await lease()
            if chunks.isEmpty {
                guard try await store.setToken() else { return }
                try await setTokens()
            }
            for chunk in chunks {
                guard case .over = try await walk(chunk) else { return }
            }
        }
    }

    /// Sets the tokens of the chunks that were made.
    func setTokens() async throws {
        while try await store.setToken() {}
    }

    /// Ends back-offs, the wait of a day, and the leases of walks that were cut short.
    func makeDue() async throws {
        try await execute("UPDATE appstore.import_chunks SET run_at = clock_timestamp()")
    }

    /// Loads a file as an operator does.
    @discardableResult
    func load(
        _ csv: String,
        depth: String = "statuses",
        environment: String? = nil,
        again: Bool = false,
        knowsDigest: Bool = true
    ) async throws -> ImportLoader.Report {
        let path = FileManager.default.temporaryDirectory.appending(path: "\(UUID()).csv").path
        try Data(csv.utf8).write(to: URL(filePath: path))
        defer { try? FileManager.default.removeItem(atPath: path) }
        let sha256 = knowsDigest ? try await ImportFile.sha256(of: path) : nil
        let source = try await ImportFile(path: path, bundleID: "com.example.app")
        let connection = try await Connection.open(ConnectionOptions(database.url(user: "appstore_operator")), logger: .silent)
        let loader = ImportLoader(
            connection: connection,
            fileName: "customers.csv",
            bundleID: "com.example.app",
            environment: environment,
            depth: depth,
            again: again
        )
        do {
            let report = try await loader.load(source, sha256: sha256) { _ in }
            await connection.close()
            return report
        } catch {
            await connection.close()
            throw error
        }
    }

    /// Makes the users of all chunks owners whose events are settled.
    func link() async throws {
        try await execute("UPDATE appstore.import_chunks SET link_at = clock_timestamp() WHERE link_at IS NOT NULL")
        while try await store.link() {}
    }

    /// Settles the events that are due, as a worker would: their transactions become purchases.
    func work() async throws {
        try await execute(
            """
            DO $$
            DECLARE
                e record; p jsonb;
            BEGIN
                FOR e IN SELECT i.*, q.run FROM appstore.inbox_queue AS q JOIN appstore.inbox AS i USING (event_id)
                         WHERE q.run_at <= clock_timestamp() ORDER BY event_id LOOP
                    p := convert_from(decode(rpad(t, (length(t) + 3) / 4 * 4, '='), 'base64'), 'UTF8')::jsonb
                        FROM (SELECT translate(split_part(convert_from(e.body, 'UTF8')::jsonb #>> '{answer,signedTransactionInfo}', '.', 2),
                                               '-_', '+/') AS t) AS t;
                    INSERT INTO appstore.transactions (environment, transaction_id, original_transaction_id, bundle_id, product_id,
                        product_type, purchase_date, signed_date, payload_hash, first_signed_date, is_subscription, period_no, order_no)
                    VALUES ((convert_from(e.body, 'UTF8')::jsonb #>> '{asked,environment}')::appstore.environment, p ->> 'transactionId',
                            p ->> 'originalTransactionId', 'com.example.app', 'p', 'Non-Consumable', now(), now(), '\\x01', now(), false,
                            gen_random_uuid(), gen_random_uuid())
                    ON CONFLICT DO NOTHING;
                    PERFORM appstore.settle('{}', ARRAY[e.event_id], ARRAY[e.source], ARRAY[e.received_at], ARRAY[e.run], ARRAY[1],
                        ARRAY['applied']::appstore.result[], ARRAY[NULL]::text[], ARRAY[NULL]::text[], ARRAY[NULL]::text[],
                        ARRAY[NULL]::text[], ARRAY[NULL]::uuid[], ARRAY[convert_from(e.body, 'UTF8')::jsonb #>> '{asked,environment}'],
                        ARRAY['com.example.app'], ARRAY[p ->> 'transactionId'], ARRAY[p ->> 'originalTransactionId']);
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

    /// The items, by line: `line id environment state`, with the reason where there is one.
    func items() async throws -> [String] {
        try await lines("SELECT concat_ws(' ', line, id, environment, state, reason) FROM appstore.import_items ORDER BY import_id, line")
    }

    /// The imports: `id state found covered unknown failed waiting remaining`.
    func imports() async throws -> [String] {
        try await lines(
            """
            SELECT concat_ws(' ', import_id, state, found, covered, unknown, failed, waiting, remaining) FROM appstore.import_status
            ORDER BY import_id
            """
        )
    }

    /// How many events of each source and transaction the inbox has.
    func events() async throws -> [String] {
        try await lines(
            """
            SELECT concat_ws(' ', i.source, p ->> 'transactionId', count(*)) FROM appstore.inbox AS i
            CROSS JOIN LATERAL (SELECT translate(split_part(convert_from(i.body, 'UTF8')::jsonb #>> '{answer,signedTransactionInfo}', '.', 2),
                                                 '-_', '+/') AS t) AS t
            CROSS JOIN LATERAL (SELECT convert_from(decode(rpad(t, (length(t) + 3) / 4 * 4, '='), 'base64'), 'UTF8')::jsonb AS p) AS p
            GROUP BY i.source, p ->> 'transactionId' ORDER BY 1
            """
        )
    }
}
