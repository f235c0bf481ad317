import AppStore
import Outbox
package import Postgres
import SQL
import ServerAPI

/// Runs the statements of imports. Those that name a chunk name its lease, and change nothing when another one has begun.
struct ImportStore: Sendable {
    /// What follows an item.
    enum Did: String, Sendable {
        /// Its next page.
        case more
        /// The next item.
        case settled
        /// Nothing: the import was paused or stopped.
        case stop
    }

    let pool: ConnectionPool
    let leaseSeconds: Int

    /// - Parameter slots: how many chunks of each lane at most.
    func lease(_ slots: [(lane: ImportLane, count: Int)]) async throws -> [ImportChunk] {
        let statement = Statement.leaseImportChunks(
            bundleIDs: slots.map(\.lane.app.bundleID),
            environments: slots.map(\.lane.app.environment.rawValue),
            depths: slots.map(\.lane.depth.rawValue),
            slots: slots.map { Int32($0.count) },
            seconds: Int32(leaseSeconds)
        )
        return try await pool.query(statement).map(ImportChunk.init)
    }

    /// Stores an answer and renews the lease. Returns nil when another lease has begun.
    func settle(_ item: ImportChunk.Item, with elements: ServerAPIElements, in chunk: ImportChunk) async throws -> Did? {
        let statement = Statement.settleImportItem(
            importID: chunk.importID,
            firstLine: chunk.firstLine,
            epoch: chunk.epoch,
            line: item.line,
            bodies: elements.events,
            contracts: elements.contracts,
            revision: elements.revision,
            hasMore: elements.hasMore,
            seconds: Int32(leaseSeconds)
        )
        return try await did(statement)
    }

    /// Records that a request brought no answer. Returns nil when another lease has begun.
    ///
    /// - Parameters:
    ///   - reason: nil where Apple knows no such id.
    ///   - atMost: the item fails when it has failed so often.
    func miss(_ item: ImportChunk.Item, reason: String?, atMost: Int = 1, in chunk: ImportChunk) async throws -> Did? {
        let statement = Statement.missImportItem(
            importID: chunk.importID,
            firstLine: chunk.firstLine,
            epoch: chunk.epoch,
            line: item.line,
            reason: reason,
            atMost: Int32(atMost),
            seconds: Int32(leaseSeconds)
        )
        return try await did(statement)
    }

    /// Renews a lease after a request that Apple has not answered. Returns whether none of the chunk's was for a day; nil when another
    /// lease has begun.
    func renew(_ chunk: ImportChunk) async throws -> Bool? {
        let statement = Statement.importRenewLease(
            importID: chunk.importID,
            firstLine: chunk.firstLine,
            epoch: chunk.epoch,
            seconds: Int32(leaseSeconds)
        )
        return try await pool.query(statement)[0].decode(0)
    }

    /// Ends a lease.
    ///
    /// - Parameter counts: whether it failed.
    func end(_ chunk: ImportChunk, reason: String?, after delay: Duration, counts: Bool) async throws {
        _ = try await pool.query(
            .endImportLease(
                importID: chunk.importID,
                firstLine: chunk.firstLine,
                epoch: chunk.epoch,
                reason: reason,
                delay: delay,
                counts: counts
            )
        )
    }

    /// Makes users owners, of one chunk. Returns whether one was due.
    func link() async throws -> Bool { try await pool.query(.linkImportOwners())[0].decode(0) }

    /// Sets the next token of a running import, in a transaction of its own. Returns whether a chunk had one.
    func setToken() async throws -> Bool { try await pool.query(.setImportToken())[0].decode(0) }

    private func did(_ statement: Statement) async throws -> Did? {
        try await pool.query(statement)[0].decode(0, as: String?.self).flatMap(Did.init)
    }
}

extension ImportChunk {
    fileprivate init(_ row: Row) throws {
        let lines: [Int32] = try row.decode("lines")
        let ids: [String] = try row.decode("ids")
        let revisions: [String?] = try row.decode("revisions")
        let given: [Bool] = try row.decode("is_given")
        self.init(
            importID: try row.decode("import_id"),
            firstLine: try row.decode("first_line"),
            epoch: try row.decode("epoch"),
            lane: ImportLane(
                app: CallLane(try row.decode("bundle_id"), AppStoreEnvironment(rawValue: try row.decode("environment"))),
                depth: try row.decode("depth", as: String.self) == Depth.history.rawValue ? .history : .statuses
            ),
            failures: Int(try row.decode("failures", as: Int32.self)),
            items: lines.indices.map { Item(line: lines[$0], id: ids[$0], revision: revisions[$0], isGiven: given[$0]) }
        )
    }
}

/// A part of an import, leased by this process: items of one app and environment, each to be asked.
struct ImportChunk: Sendable {
    enum Depth: String, CaseIterable, Sendable {
        /// What customers may use today.
        case statuses
        /// All their transactions.
        case history
    }

    /// An id of the file.
    struct Item: Hashable, Sendable {
        let line: Int32
        let id: String
        /// From where its transaction history is asked; nil for all of it.
        var revision: String?
        /// Whether only this environment is asked.
        let isGiven: Bool
    }

    let importID: Int32
    /// With the import the name of the chunk.
    let firstLine: Int32
    /// Names the lease.
    let epoch: Int64
    let lane: ImportLane
    /// Leases in a row that failed.
    let failures: Int
    let items: [Item]

    func request(_ item: Item) -> ServerAPIRequest {
        switch lane.depth {
        case .statuses: ServerAPIRequest(.subscriptionStatuses, of: lane.app.bundleID, in: lane.app.environment, path: [item.id])
        case .history:
            ServerAPIRequest(
                .transactionHistory,
                of: lane.app.bundleID,
                in: lane.app.environment,
                path: [item.id],
                query: item.revision.map { [.init("revision", $0)] } ?? []
            )
        }
    }
}

/// What is left of the running imports, of all workers.
package struct ImportStatistics: Hashable, Statistics {
    /// Items that are not settled.
    package let remaining: Int64
    /// Of the import that takes longest; nil while no rate is known.
    package let timeLeft: Double?

    /// For the role worker.
    package static let statement = Statement.importStatistics()

    package init(_ row: Row) throws {
        remaining = try row.decode("remaining")
        timeLeft = try row.decode("eta_seconds")
    }
}
