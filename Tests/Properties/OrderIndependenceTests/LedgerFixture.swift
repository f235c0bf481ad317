import AppStore
import FoundationEssentials
import InboxTesting
import Ledger
import LedgerStore
import LivesTesting
import Postgres
import PostgresTesting
import Randomness
import StoreSimulator

/// A database that processes events and commands of many histories in a random order.
struct LedgerFixture {
    /// An event or a command.
    enum Step: Sendable {
        case event(EventFacts)
        case command(LifeCommand)
    }

    /// The duration of the non-renewing product in days.
    static let days: [String: Int64] = ["com.example.lives.season": 30]

    let database: TestDatabase
    let workers: ConnectionPool
    let shop: ConnectionPool
    /// Whether the feed is on, and sequenced after each batch.
    let isTold: Bool

    /// - Parameter options: of CREATE DATABASE, such as a locale.
    static func open(options: String = "", isTold: Bool = false) async throws -> LedgerFixture {
        let database = try await InboxDatabase.make(options: options)
        try await database.withConnection { connection in
            // Refuses updates and deletions in tables whose rows it cannot tell apart.
            _ = try await connection.execute("CREATE PUBLICATION everything FOR ALL TABLES")
            // Detects deadlocks quickly.
            _ = try await connection.execute("ALTER DATABASE \(identifier: database.name) SET deadlock_timeout = '20ms'")
            for (product, days) in days {
                _ = try await connection.execute(
                    "INSERT INTO appstore.products VALUES (\(HistoryGenerator.app.bundleID), \(product), \(product), \(Int32(days)))"
                )
            }
        }
        let ledger = LedgerFixture(
            database: database,
            workers: try database.pool(user: "appstore_worker"),
            shop: try database.pool(user: "postgres"),
            isTold: isTold
        )
        if isTold { _ = try await ledger.shop.withConnection { try await $0.execute("SELECT appstore.enable_feed()") } }
        return ledger
    }

    func close() async throws {
        await workers.close()
        await shop.close()
        try await database.drop()
    }

    /// Processes all steps in batches of up to `most`, `atOnce` of them concurrently.
    func process(_ steps: [Step], batchesOf most: Int, atOnce: Int, using generator: inout SeededGenerator) async throws {
        let batches = Shuffling.batches(of: steps, upTo: most, using: &generator)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (index, batch) in batches.enumerated() {
                if index >= atOnce { try await group.next() }
                group.addTask { try await process(batch) }
            }
            try await group.waitForAll()
        }
    }

    /// Processes one batch: its commands first, then its events.
    func process(_ batch: [Step]) async throws {
        var facts: [EventFacts] = []
        for step in batch {
            switch step {
            case .event(let event): facts.append(event)
            case .command(let command): try await retrying { try await run(command) }
            }
        }
        let fold = BatchFold(facts)
        try await retrying { _ = try await workers.withTransaction { try await LedgerMerger.merge(fold, in: $0) } }
        if isTold { try await database.sequenceFeed() }
    }

    /// Retries after serialization conflicts, as the queue does and the shop should.
    func retrying(_ body: () async throws -> Void) async throws {
        while true {
            do {
                return try await body()
            } catch let error as PostgresError where error.isSerializationConflict {
                continue
            }
        }
    }

    func run(_ command: LifeCommand) async throws {
        switch command {
        case .createOrder(let order):
            let no = UUID(uuidString: order.no)
            try await shop.withConnection { connection in
                _ = try await connection.execute(
                    "SELECT appstore.create_order(\(order.user), \(order.product), \(no), \(order.bundle))"
                )
            }
        case .linkOwner(let link):
            let linkedAt = PostgresTimestamp(microsecondsSince2000: link.linkedAt - 946_684_800_000_000)
            try await shop.withTransaction { connection in
                // An operator links only a purchase that is visible: wait for batches about to commit it.
                try await connection.execute("LOCK TABLE appstore.transactions IN SHARE MODE")
                _ = try await connection.execute(
                    "SELECT appstore.lock_for_link(\(link.environment.rawValue)::appstore.environment, \(link.contract))"
                )
                _ = try await connection.execute(
                    """
                    SELECT appstore.record_owner_link(\(link.environment.rawValue)::appstore.environment, \(link.contract), \(link.user), \(linkedAt), 'tests',
                                                      NULL)
                    """
                )
            }
        }
    }

    /// The state digest of both environments and its parts, which show where two digests differ.
    func digests() async throws -> [String] {
        try await database.lines(
            """
            SELECT environment || ' ' || part || ' ' || digest
            FROM unnest(enum_range(NULL::appstore.environment)) AS e (environment) CROSS JOIN LATERAL appstore.state_digest_parts(environment)
            UNION ALL
            SELECT environment || ' ' || appstore.state_digest(environment) FROM unnest(enum_range(NULL::appstore.environment)) AS e (environment)
            """
        )
    }

    func lines() async throws -> [String] {
        try await shop.withConnection { try await LedgerReader.lines($0) }
    }
}
