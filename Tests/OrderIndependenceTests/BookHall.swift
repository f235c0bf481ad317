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
import StoreSimulator

/// A database that takes events and commands of many histories side by side, in a random order.
struct BookHall {
    /// Something to process.
    enum Step: Sendable {
        case event(EventFacts)
        case command(LifeCommand)
    }

    /// How long the non-renewing product lasts, in days.
    static let days: [String: Int64] = ["com.example.lives.season": 30]

    let database: TestDatabase
    let workers: ConnectionPool
    let shop: ConnectionPool

    /// - Parameter options: of CREATE DATABASE, such as a locale.
    static func open(options: String = "") async throws -> BookHall {
        let database = try await InboxDatabase.make(options: options)
        // Deadlocks are to be found soon.
        try await database.withConnection { connection in
            _ = try await connection.execute("ALTER DATABASE \(identifier: database.name) SET deadlock_timeout = '20ms'")
            for (product, days) in days {
                _ = try await connection.execute(
                    "INSERT INTO appstore.products VALUES (\(HistoryAuthor.app.bundleID), \(product), \(product), \(Int32(days)))"
                )
            }
        }
        return BookHall(
            database: database,
            workers: try database.pool(user: "appstore_worker"),
            shop: try database.pool(user: "postgres")
        )
    }

    func close() async throws {
        await workers.close()
        await shop.close()
        try await database.drop()
    }

    /// Processes everything, in batches of up to `most`, so many at once.
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

    /// Processes one batch: the commands in it first.
    func process(_ batch: [Step]) async throws {
        var facts: [EventFacts] = []
        for step in batch {
            switch step {
            case .event(let event): facts.append(event)
            case .command(let command): try await retrying { try await run(command) }
            }
        }
        let fold = BatchFold(facts)
        try await retrying { _ = try await workers.withTransaction { try await BookKeeper.merge(fold, in: $0) } }
    }

    /// As the queue does, and as the shop should: what met another one and had to give way is repeated.
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
                // Who links a purchase has seen it: what a batch is about to commit, the link waits for.
                try await connection.execute("LOCK TABLE appstore.transactions IN SHARE MODE")
                _ = try await connection.execute(
                    """
                    SELECT appstore.record_owner_link(\(link.environment.rawValue)::appstore.environment, \(link.contract), \(link.user), \(linkedAt), 'tests',
                                                      NULL)
                    """
                )
            }
        }
    }

    /// The state's digest in both environments, after its parts, which say where two differ.
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
        try await shop.withConnection { try await BookReader.lines($0) }
    }
}
