import Foundation
import InboxTesting
import Postgres
import PostgresTesting
import SQL

/// A database whose feed is on, and a worker's view of an endpoint of it.
struct EndpointScene {
    let database: TestDatabase

    static func make(_ endpoint: Statement = "SELECT appstore.make_endpoint('crm', 'https://example.com/hook')") async throws
        -> EndpointScene
    {
        let scene = EndpointScene(database: try await InboxDatabase.make())
        try await scene.operate("SELECT appstore.enable_feed()", endpoint)
        return scene
    }

    func operate(_ statements: Statement...) async throws {
        try await database.withConnection(user: "appstore_operator") { connection in
            for statement in statements { _ = try await connection.execute(statement) }
        }
    }

    func run(_ script: String) async throws {
        try await database.withConnection { try await $0.runScript(script) }
    }

    func lines(_ statement: Statement) async throws -> [String] {
        try await database.lines(statement)
    }

    func query(_ statement: Statement) async throws -> Rows {
        try await database.withConnection(user: "appstore_worker") { try await $0.query(statement) }
    }

    /// Entries of these subjects, numbered in this order.
    func tell(_ subjects: String?..., type: String = "effect.granted", environment: String = "Production") async throws {
        try await tell(all: subjects, type: type, environment: environment)
    }

    func tell(all subjects: [String?], type: String = "effect.granted", environment: String = "Production") async throws {
        // A tell makes the partition and moves the head; its entry is replaced by what the test wants.
        try await database.withConnection { connection in
            _ = try await connection.execute(
                "INSERT INTO appstore.tells (kind, ref) SELECT 'forgotten', subject.place::text FROM unnest(\(subjects)) WITH ORDINALITY AS subject (id, place)"
            )
        }
        try await database.sequenceFeed()
        try await database.withConnection { connection in
            _ = try await connection.execute(
                """
                UPDATE appstore.feed AS f
                SET type = \(type), subject = s.id, user_id = NULL, environment = \(environment)::appstore.environment, bundle_id = 'com.example.shop'
                FROM unnest(\(subjects)) WITH ORDINALITY AS s (id, place), appstore.feed_head AS h
                WHERE f.position = h.position - \(subjects.count) + s.place
                """
            )
        }
    }

    /// The names and epochs of the leases.
    func lease(_ slots: Int32 = 10) async throws -> [Lease] {
        try await query(.leaseEndpoints(slots: slots, seconds: 30)).map { row in
            Lease(
                name: try row.decode("name"),
                epoch: try row.decode("epoch"),
                position: try row.decode("position"),
                hasPrevious: try row.decode("previous_secret"),
                openForMilliseconds: try row.decode("open_for_ms"),
                failingForMilliseconds: try row.decode("failing_since_ms"),
                probes: try row.decode("probes")
            )
        }
    }

    /// Of each endpoint that still is the worker's, whether it has work.
    func poll(_ leases: [Lease], after: [Int64]) async throws -> [String: Bool] {
        let rows = try await query(.polling(leases, after: after))
        return try Dictionary(uniqueKeysWithValues: rows.map { (try $0.decode("name"), try $0.decode("has_work")) })
    }

    func take(
        _ lease: Lease,
        after: Int64,
        inFlight: [Int64] = [],
        most: Int = 8,
        redelivered: Int = 4,
        bytes: Int = 1_000_000
    ) async throws -> [Taken] {
        let statement = Statement.taking(lease, after: after, inFlight: inFlight, most: most, redelivered: redelivered, bytes: bytes)
        return try await query(statement).map { row in
            Taken(
                kind: try row.decode("kind"),
                position: try row.decode("position"),
                redelivery: try row.decode("redelivery_id"),
                id: try row.decode("id"),
                type: try row.decode("type"),
                subject: try row.decode("subject"),
                attempts: try row.decode("attempts"),
                heldMilliseconds: try row.decode("held_ms"),
                body: try row.decode("body"),
                isMissing: try row.decode("body_missing")
            )
        }
    }

    @discardableResult
    func settle(_ lease: Lease, upTo position: Int64? = nil, _ reports: [Report], _ breaker: Breaker = Breaker()) async throws -> Bool {
        try await query(.settling(lease, upTo: position, reports, breaker))[0].decode(0)
    }

    /// `position subject attempts state` of each exception, in order; times are in whole minutes.
    func open() async throws -> [String] {
        try await lines(
            """
            SELECT concat_ws(' ', d.position, d.subject, d.attempts,
                             CASE WHEN d.given_up_at IS NOT NULL THEN 'given up' WHEN d.run_at = 'infinity' THEN 'behind'
                                  WHEN d.run_at <= now() THEN 'now' ELSE 'in ' || ceil(extract(epoch FROM d.run_at - now()) / 60) * 60 END)
            FROM appstore.open_deliveries AS d ORDER BY d.endpoint, d.position
            """
        )
    }

    /// Moves all times of the open deliveries back.
    func pass(minutes: Int) async throws {
        try await run(
            """
            UPDATE appstore.open_deliveries
            SET run_at = run_at - interval '\(minutes) minutes', first_failed_at = first_failed_at - interval '\(minutes) minutes';
            UPDATE appstore.endpoints SET due_from = due_from - interval '\(minutes) minutes';
            """
        )
    }

    /// How many index entries of the open deliveries these statements read, dead ones included.
    func exceptionsRead(by statements: Statement...) async throws -> Int64 {
        try await database.withConnection { connection in
            try await connection.withTransaction { transaction in
                for statement in statements { try await transaction.execute(statement) }
                return try await transaction.query(
                    """
                    SELECT sum(pg_stat_get_xact_tuples_returned(i.indexrelid))::bigint FROM pg_index AS i
                    WHERE i.indrelid = 'appstore.open_deliveries'::regclass
                    """
                )[0].decode(0)
            }
        }
    }

    /// What an endpoint's row says, as text.
    func endpoint(_ column: String) async throws -> String {
        try await lines("SELECT coalesce((\(unsafeRaw: column))::text, 'null') FROM appstore.endpoints ORDER BY name LIMIT 1")[0]
    }
}

extension Statement {
    static func polling(_ leases: [Lease], after: [Int64]) -> Statement {
        .pollEndpoints(names: leases.map(\.name), epochs: leases.map(\.epoch), after: after, seconds: 30)
    }

    static func taking(
        _ lease: Lease,
        after: Int64,
        inFlight: [Int64] = [],
        most: Int = 8,
        redelivered: Int = 4,
        bytes: Int = 1_000_000
    ) -> Statement {
        .takeDeliveries(
            name: lease.name,
            epoch: lease.epoch,
            after: after,
            inFlight: inFlight,
            most: Int32(most),
            mostRedelivered: Int32(redelivered),
            mostBytes: Int32(bytes)
        )
    }

    static func settling(_ lease: Lease, upTo position: Int64?, _ reports: [Report], _ breaker: Breaker = Breaker()) -> Statement {
        let ended = breaker.redelivered
        return .settleDeliveries(
            name: lease.name,
            epoch: lease.epoch,
            position: position,
            positions: reports.map(\.position),
            subjects: reports.map(\.subject),
            results: reports.map(\.result),
            attempts: reports.map { Int32($0.attempts) },
            waitMS: reports.map(\.wait),
            statuses: reports.map { $0.status.map(Int32.init) },
            milliseconds: reports.map { _ in 12 as Int32 },
            answerBytes: reports.map { report -> Int? in report.answer?.utf8.count },
            answers: reports.map(\.answer),
            errors: reports.map(\.error),
            redeliveries: reports.map(\.redelivery),
            failures: Int32(breaker.failures),
            isFailing: breaker.isFailing,
            openForMS: breaker.openForMilliseconds.map(Int64.init),
            probes: Int32(breaker.probes),
            disableBecause: breaker.disableBecause,
            redeliveredThrough: ended.map { $0.through },
            redeliveryIDs: ended.map { $0.id }
        )
    }
}

struct Lease: Equatable, Sendable {
    let name: String
    let epoch: Int64
    let position: Int64
    let hasPrevious: Bool
    let openForMilliseconds: Int64?
    let failingForMilliseconds: Int64?
    let probes: Int32
}

struct Taken: Sendable {
    let kind: String
    let position: Int64
    let redelivery: Int64?
    let id: UUID?
    let type: String?
    let subject: String?
    let attempts: Int32
    let heldMilliseconds: Int64?
    let body: [UInt8]?
    let isMissing: Bool

    /// `kind position`.
    var line: String { "\(kind) \(position)" }
}

struct Report: Sendable {
    var position: Int64
    var subject: String? = nil
    var result = "delivered"
    var attempts = 1
    var wait: Int? = nil
    var status: Int? = 200
    var answer: String? = nil
    var error: String? = nil
    var redelivery: Int64? = nil

    static func failed(_ position: Int64, _ subject: String? = nil, attempts: Int = 1, wait: Int? = 60_000) -> Report {
        Report(
            position: position,
            subject: subject,
            result: "failed",
            attempts: attempts,
            wait: wait,
            status: 500,
            answer: "alice is unknown",
            error: "HTTP status 500"
        )
    }

    /// The receiver has asked to wait.
    static func later(_ position: Int64, _ subject: String? = nil, wait: Int? = 1_200_000) -> Report {
        Report(position: position, subject: subject, result: "later", attempts: 0, wait: wait, status: 503)
    }

    static func held(_ position: Int64, _ subject: String) -> Report {
        Report(position: position, subject: subject, result: "held", attempts: 0, wait: 600_000, status: nil)
    }
}

struct Breaker: Sendable {
    var failures = 0
    var isFailing = false
    var openForMilliseconds: Int? = nil
    var probes = 0
    var disableBecause: String? = nil
    var redelivered: [(id: Int64, through: Int64)] = []
}
