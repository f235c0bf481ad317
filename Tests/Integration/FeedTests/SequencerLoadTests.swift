import Foundation
import InboxTesting
import Postgres
import PostgresTesting
import Randomness
import Synchronization
import Testing

/// Writers that roll back and sleep, two sequencers, sessions that are killed, and a reader.
struct SequencerLoadTests {
    private static let writers = 5

    /// What happened so far.
    private final class Record: Sendable {
        /// The names of the tells that each writer has committed, in order.
        let committed = Mutex<[[String]]>(Array(repeating: [], count: writers))
        let isOver = Mutex(false)
        let kills = Mutex(0)
    }

    /// `FEED_ROUNDS`: transactions of each writer; 150 by default.
    @Test(.timeLimit(.minutes(60)))
    func `each committed tell gets one position, without a gap, in the order of commit`() async throws {
        let rounds = ProcessInfo.processInfo.environment["FEED_ROUNDS"].flatMap(Int.init) ?? 150
        let database = try await FeedScene.make()
        let record = Record()
        try await database.withConnection { holder in
            try await holder.withTransaction { held in
                _ = try await held.execute(FeedScene.tell("open throughout"))
                try await withThrowingTaskGroup { group in
                    for sequencer in 0..<2 { group.addTask { try await Self.sequence(sequencer, in: database, record) } }
                    group.addTask { try await Self.kill(in: database, record) }
                    group.addTask { try await Self.read(in: database, record) }
                    try await Self.write(rounds, in: database, record)
                    // Nothing waits for the open transaction.
                    let expected = record.committed.withLock { $0.joined().count }
                    try await eventually("all that is committed is told", within: .seconds(60)) {
                        try await database.lines("SELECT position::text FROM appstore.feed_head") == ["\(expected)"]
                    }
                    record.isOver.withLock { $0 = true }
                    try await group.waitForAll()
                }
            }
        }
        try await FeedScene.sequence(in: database)
        try await check(database, record)
    }

    private func check(_ database: TestDatabase, _ record: Record) async throws {
        let committed = record.committed.withLock { $0 }
        let told = try await database.lines("SELECT user_id FROM appstore.feed ORDER BY position")
        #expect(told.count == committed.joined().count + 1)
        #expect(Set(told).count == told.count, "a tell is told twice")
        for (writer, names) in committed.enumerated() {
            #expect(told.filter { $0.hasPrefix("\(writer)-") } == names, "writer \(writer): some are missing, extra or in another order")
        }
        let extent = try await database.lines("SELECT min(position) || ' ' || max(position) FROM appstore.feed")
        #expect(extent == ["1 \(told.count)"])
        #expect(try await database.lines("SELECT count(*)::text FROM appstore.tells") == ["0"])
        #expect(record.kills.withLock { $0 } > 0)
    }

    private static func write(_ rounds: Int, in database: TestDatabase, _ record: Record) async throws {
        try await withThrowingTaskGroup { group in
            for writer in 0..<writers {
                group.addTask {
                    var random = SeededGenerator(seed: UInt64(writer + 1))
                    try await database.withConnection { connection in
                        for round in 0..<rounds {
                            let names = (0..<Int.random(in: 1...20, using: &random)).map { "\(writer)-\(round)-\($0)" }
                            let sleep = Int.random(in: 0..<10, using: &random) == 0 ? Double.random(in: 0...0.1, using: &random) : 0
                            let isRolledBack = Int.random(in: 0..<5, using: &random) == 0
                            _ = try await connection.execute("BEGIN")
                            _ = try await connection.execute(
                                "INSERT INTO appstore.tells (kind, ref) SELECT 'forgotten', n FROM unnest(\(names)) AS n"
                            )
                            if sleep > 0 { _ = try await connection.execute("SELECT pg_sleep(\(sleep))") }
                            _ = try await connection.execute(isRolledBack ? "ROLLBACK" : "COMMIT")
                            if !isRolledBack { record.committed.withLock { $0[writer] += names } }
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    /// Takes steps of few tells; connects again when its session was killed.
    private static func sequence(_ index: Int, in database: TestDatabase, _ record: Record) async throws {
        while !record.isOver.withLock({ $0 }) {
            do {
                try await database.withConnection(user: "appstore_worker") { connection in
                    while !record.isOver.withLock({ $0 }) {
                        let more = try await connection.query("SELECT s.has_more FROM appstore.sequence_feed(37) AS s")
                        if try more.first?.decode("has_more") == false { try await pauseBriefly() }
                    }
                }
            } catch let error as PostgresError where error.isConnectionLoss || error.sqlState?.rawValue == "57P01" {
                continue
            }
        }
    }

    private static func kill(in database: TestDatabase, _ record: Record) async throws {
        let kill: Statement = """
            WITH found AS MATERIALIZED (
                SELECT pid FROM pg_stat_activity
                WHERE usename = 'appstore_worker' AND datname = current_database() AND state = 'active' LIMIT 1
            )
            SELECT FROM found WHERE pg_terminate_backend(found.pid)
            """
        try await database.withConnection { connection in
            while !record.isOver.withLock({ $0 }) {
                let killed = try await connection.query(kill).count
                record.kills.withLock { $0 += killed }
                try await pause(.milliseconds(100))
            }
        }
    }

    /// Reads as a consumer does: what follows its position.
    private static func read(in database: TestDatabase, _ record: Record) async throws {
        var position: Int64 = 0
        try await database.withConnection(user: "appstore_backend") { connection in
            while true {
                let isOver = record.isOver.withLock { $0 }
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
