import Foundation
import InboxTesting
import Postgres
import PostgresTesting
import Randomness
import Synchronization
import Testing

/// Writers that roll back and sleep, two sequencers, statements that are cancelled, sessions that are terminated, and a reader.
struct SequencerLoadTests {
    private static let writers = 5

    /// What happened so far.
    private final class Record: Sendable {
        let log = CommitLog()
        let isOver = Mutex(false)
        /// Whether no session is disturbed any longer.
        let isCalm = Mutex(false)
        /// Counts of `cancelled` and `terminated` sessions of `writer` and `sequencer`, and of `unknown` commits.
        let disturbances = Mutex<[String: Int]>([:])

        var hasEnded: Bool { isOver.withLock { $0 } }

        func count(_ disturbance: String) {
            disturbances.withLock { $0[disturbance, default: 0] += 1 }
        }
    }

    /// `FEED_ROUNDS`: transactions of each writer; 150 by default. A transaction writes ten tells on average, and one in five rolls back.
    @Test(.timeLimit(.minutes(60)))
    func `each committed tell gets one position, without a gap, in the order of commit`() async throws {
        let rounds = ProcessInfo.processInfo.environment["FEED_ROUNDS"].flatMap(Int.init) ?? 150
        let database = try await FeedScene.make()
        let record = Record()
        try await database.withConnection { holder in
            let writtenAt = record.log.now()
            try await holder.withTransaction { held in
                _ = try await held.execute(FeedScene.tell("open throughout"))
                try await withThrowingTaskGroup { group in
                    for _ in 0..<2 { group.addTask { try await Self.sequence(in: database, record) } }
                    group.addTask { try await Self.disturb(in: database, record) }
                    group.addTask { try await Self.read(in: database, record) }
                    try await withThrowingTaskGroup { group in
                        for writer in 0..<Self.writers { group.addTask { try await Self.write(writer, rounds, in: database, record) } }
                        try await group.waitForAll()
                    }
                    try await eventually("a sequencer is terminated", within: .seconds(120)) {
                        record.disturbances.withLock { $0["terminated sequencer", default: 0] > 0 }
                    }
                    record.isCalm.withLock { $0 = true }
                    // Nothing waits for the open transaction.
                    let expected = record.log.count
                    try await eventually("all that is committed is told", within: .seconds(120)) {
                        try await database.lines("SELECT position::text FROM appstore.feed_head") == ["\(expected)"]
                    }
                    record.isOver.withLock { $0 = true }
                    try await group.waitForAll()
                }
            }
            record.log.add(["open throughout"], writtenAt: writtenAt)
        }
        try await FeedScene.sequence(in: database)
        #expect(try await record.log.violations(in: database) == [])
        #expect(try await database.lines("SELECT count(*)::text FROM appstore.tells") == ["0"])
        let disturbances = record.disturbances.withLock { $0 }
        #expect(disturbances["terminated sequencer", default: 0] > 0 && disturbances["terminated writer", default: 0] > 0)
        print("\(record.log.count) tells committed and told, \(disturbances.sorted { $0.key < $1.key })")
    }

    /// Whether the session was cancelled or terminated.
    private static func isDisturbance(_ error: PostgresError) -> Bool {
        error.isConnectionLoss || error.sqlState == .queryCanceled
    }

    /// Commits or rolls back so many transactions; connects again after each disturbance.
    private static func write(_ writer: Int, _ rounds: Int, in database: TestDatabase, _ record: Record) async throws {
        var random = SeededGenerator(seed: UInt64(writer + 1))
        var round = 0
        while round < rounds {
            do {
                try await database.withConnection { connection in
                    _ = try await connection.execute("SET application_name = 'writer'")
                    while round < rounds {
                        round += 1
                        let names = (0..<Int.random(in: 1...20, using: &random)).map { "\(writer)-\(round)-\($0)" }
                        let sleep = Int.random(in: 0..<10, using: &random) == 0 ? Double.random(in: 0...0.1, using: &random) : 0
                        let ending = Int.random(in: 0..<5, using: &random) == 0 ? "ROLLBACK" : "COMMIT"
                        try await transact(names, sleep: sleep, ending: ending, on: connection, of: database, record)
                    }
                }
            } catch let error as PostgresError where isDisturbance(error) {
                continue
            }
        }
    }

    private static func transact(
        _ names: [String],
        sleep: Double,
        ending: String,
        on connection: Connection,
        of database: TestDatabase,
        _ record: Record
    ) async throws {
        let writtenAt = record.log.now()
        _ = try await connection.execute("BEGIN")
        let id = try await connection.query("SELECT pg_current_xact_id()::text")[0].decode(0, as: String.self)
        _ = try await connection.execute("INSERT INTO appstore.tells (kind, ref) SELECT 'forgotten', n FROM unnest(\(names)) AS n")
        if sleep > 0 { _ = try await connection.execute("SELECT pg_sleep(\(sleep))") }
        do {
            _ = try await connection.execute("\(unsafeRaw: ending)")
            if ending == "COMMIT" { record.log.add(names, writtenAt: writtenAt) }
        } catch let error as PostgresError where isDisturbance(error) {
            record.count("unknown commits")
            if try await isCommitted(id, in: database) { record.log.add(names, writtenAt: writtenAt) }
            throw error
        }
    }

    /// Whether a transaction was committed whose session has ended or is about to.
    private static func isCommitted(_ id: String, in database: TestDatabase) async throws -> Bool {
        try await eventually("transaction \(id) has ended") {
            let status = try await database.lines("SELECT pg_xact_status(\(id)::xid8)")
            return status == ["in progress"] ? nil : status == ["committed"]
        }
    }

    /// Takes steps of few tells; connects again after each disturbance.
    private static func sequence(in database: TestDatabase, _ record: Record) async throws {
        while !record.hasEnded {
            do {
                try await database.withConnection(user: "appstore_worker") { connection in
                    while !record.hasEnded {
                        let more = try await connection.query("SELECT s.has_more FROM appstore.sequence_feed(37) AS s")
                        if try more.first?.decode("has_more") == false { try await pauseBriefly() }
                    }
                }
            } catch let error as PostgresError where isDisturbance(error) {
                continue
            }
        }
    }

    /// Cancels or terminates one session after the other.
    private static func disturb(in database: TestDatabase, _ record: Record) async throws {
        let disturb: Statement = """
            WITH found AS MATERIALIZED (
                SELECT a.pid, CASE WHEN a.usename = 'appstore_worker' THEN 'sequencer' ELSE 'writer' END AS who
                FROM pg_stat_activity AS a
                WHERE a.datname = current_database() AND (a.usename = 'appstore_worker' OR a.application_name = 'writer')
                  AND (a.state LIKE 'idle in transaction%' OR a.state = 'active') ORDER BY random() LIMIT 1
            ), chosen AS MATERIALIZED ( -- not by the number that has sorted them, the least of all: that would hardly ever terminate a session
                SELECT found.*, random() < 0.5 AS is_cancel FROM found
            )
            SELECT CASE WHEN c.is_cancel THEN 'cancelled ' ELSE 'terminated ' END || c.who AS what FROM chosen AS c
            WHERE CASE WHEN c.is_cancel THEN pg_cancel_backend(c.pid) ELSE pg_terminate_backend(c.pid) END
            """
        try await database.withConnection { connection in
            while !record.isCalm.withLock({ $0 }) {
                for row in try await connection.query(disturb) { record.count(try row.decode("what")) }
                try await pause(.milliseconds(50))
            }
        }
    }

    /// Reads as a consumer does: what follows its position.
    private static func read(in database: TestDatabase, _ record: Record) async throws {
        var position: Int64 = 0
        try await database.withConnection(user: "appstore_backend") { connection in
            while true {
                let isOver = record.hasEnded
                let rows = try await connection.query(
                    "SELECT position FROM appstore.feed WHERE position > \(position) ORDER BY position LIMIT 500"
                )
                for row in rows {
                    let next = try row.decode("position", as: Int64.self)
                    #expect(next == position + 1, "a gap after \(position)")
                    position = next
                }
                if rows.isEmpty {
                    if isOver { return }
                    try await pauseBriefly()
                }
            }
        }
    }
}
