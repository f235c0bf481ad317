import AppStore
import AppStoreVerification
import FoundationEssentials
import InboxQueue
import InboxTesting
import Interpretation
import Logging
import OpenSSL
import Postgres
import PostgresTesting
import StoreSimulator
import Synchronization
import Testing

@testable import Revocation

/// A database, a make-believe responder, and workers that process signed notifications and ask the responder.
struct RevocationScene {
    /// An hour ago, because the worker compares dates with the database's clock.
    static let now = Timestamp(millisecondsSince1970: Int64(Date().timeIntervalSince1970 - 3600) * 1000)
    static let app = SimulatedApp(bundleID: "com.example.app", appAppleID: 42, environment: .production)

    let database: TestDatabase
    let authority: TestAuthority
    let responder: MakeBelieveResponder

    init(responderURL: String = "http://127.0.0.1:9") async throws {
        database = try await InboxDatabase.make()
        var options = AuthorityOptions(around: Self.now)
        options.responder = responderURL
        authority = try TestAuthority.generate(options)
        responder = MakeBelieveResponder(authority)
    }

    /// Runs `body` with a worker that asks.
    func withWorker<T: Sendable>(logger: Logger = .silent, _ body: (RevocationWorker) async throws -> T) async throws -> T {
        let pool = try database.pool(user: "appstore_worker")
        let value: T
        do {
            value = try await body(try RevocationWorker(self, pool: pool, logger: logger))
        } catch {
            await pool.close()
            throw error
        }
        await pool.close()
        return value
    }

    /// Puts a renewal into the inbox whose payloads are signed at an instant, and returns its event id.
    func receive(signedAt date: Timestamp = now, seed: UInt64 = .random(in: 0 ... .max)) async throws -> Int64 {
        let trigger = NotificationTrigger(NotificationKind(.didRenew), app: Self.app, now: date, seed: seed)
        let jws = try NotificationSigner(authority: authority).sign(trigger.notification()).jws
        let body = Array(#"{"signedPayload":""#.utf8) + jws + Array(#""}"#.utf8)
        return try await number("SELECT event_id FROM appstore.receive(\([body])) AS event_id")
    }

    /// The outcome of an event: `result reason`.
    func outcome(of eventID: Int64) async throws -> String {
        try await database.lines("SELECT concat_ws(' ', result, reason) FROM appstore.outcomes WHERE event_id = \(eventID)").first ?? "none"
    }

    func body(of eventID: Int64) async throws -> [UInt8] {
        let rows = try await database.withConnection {
            try await $0.query("SELECT body FROM appstore.inbox WHERE event_id = \(eventID)")
        }
        return try #require(rows.first).decode("body")
    }

    /// One column of the register, of the leaf unless another certificate is named.
    func register(_ column: String, of certificate: Certificate? = nil) async throws -> String? {
        let fingerprint = (certificate ?? authority.leaf).sha256Fingerprint
        let rows = try await database.withConnection { connection in
            try await connection.query(
                "SELECT (\(unsafeRaw: column))::text AS value FROM appstore.certificates WHERE fingerprint = \(fingerprint)"
            )
        }
        return try rows.first?.decode("value")
    }

    /// Makes every question due.
    func makeDue() async throws { try await execute("UPDATE appstore.certificates SET run_at = now(), leased_until = NULL") }

    func execute(_ statement: Statement) async throws {
        _ = try await database.withConnection { try await $0.execute(statement) }
    }

    private func number(_ statement: Statement) async throws -> Int64 {
        let rows = try await database.withConnection { try await $0.query(statement) }
        return try #require(try rows.first?.decode(0, as: Int64.self))
    }
}

/// A worker: its queue, and its questions.
final class RevocationWorker: Sendable {
    let service: RevocationService
    private let pool: ConnectionPool
    private let responder: MakeBelieveResponder
    private let queue: EventQueue<EventProcessor.Prepared>
    private let reader: Current
    private let seen = Mutex(SeenCertificates())

    init(_ scene: RevocationScene, pool: ConnectionPool, logger: Logger) throws {
        let policy = VerificationPolicy(
            apps: [App(bundleID: RevocationScene.app.bundleID, appAppleID: RevocationScene.app.appAppleID)],
            environments: [.production],
            roots: [try TrustedRoot(scene.authority.root, environments: nil)]
        )
        let reader = Current(EventReader(verifier: Verifier(policy: policy)))
        self.reader = reader
        self.pool = pool
        responder = scene.responder
        queue = EventQueue(
            pool: pool,
            configuration: EventQueue<EventProcessor.Prepared>.Configuration(),
            logger: .silent,
            prepare: { EventProcessor(reader.value).prepare($0) },
            merge: { try await EventProcessor(reader.value).merge($0, in: $1) }
        )
        service = RevocationService(
            pool: pool,
            hosts: { .any },
            used: { reader.value.verifier.takeUsedCertificates() },
            apply: { reader.value = reader.value.refusing($0) },
            logger: logger,
            exchange: scene.responder.exchange
        )
    }

    /// Processes batches until no event is due. An event is not visible while a transaction of another database may still commit an earlier one.
    func work() async throws {
        let due: Statement = "SELECT count(*) FROM appstore.inbox_queue WHERE run_at <= clock_timestamp()"
        repeat {
            while try await queue.takeBatch().events > 0 {}
        } while try await pool.withConnection { try await $0.query(due)[0].decode(0, as: Int.self) } > 0
    }

    func takeUsedCertificates() -> Set<IssuedCertificate> { reader.value.verifier.takeUsedCertificates() }

    /// Reports, asks and learns once.
    func ask() async throws {
        var known = seen.withLock { $0 }
        try await service.step(responder.exchange, &known)
        seen.withLock { [known] in $0 = known }
    }
}

/// What a worker reads events with.
private final class Current: Sendable {
    private let reader: Mutex<EventReader>

    init(_ reader: EventReader) {
        self.reader = Mutex(reader)
    }

    var value: EventReader {
        get { reader.withLock { $0 } }
        set { reader.withLock { $0 = newValue } }
    }
}
