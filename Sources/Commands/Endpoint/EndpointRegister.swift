import FoundationEssentials
import Postgres
import SQL
import StrictJSON

/// The endpoints in the database, for role `appstore_operator`.
struct EndpointRegister: Sendable {
    /// There is no endpoint of this name.
    struct UnknownEndpoint: Error, CustomStringConvertible {
        let name: String
        let known: [String]

        var description: String {
            let hint = name.nearest(among: known).map { ": did you mean \($0)?" } ?? ": appstore-inbox endpoint list shows them"
            return "there is no endpoint \"\(name)\"" + (known.isEmpty ? ", and no other: appstore-inbox endpoint create makes one" : hint)
        }
    }

    private let connection: Connection

    init(connection: Connection) {
        self.connection = connection
    }

    /// Whether changes are told. Without the feed there is nothing to deliver.
    func isFeedOn() async throws -> Bool {
        try await connection.query(.feedIsOn())[0].decode(0)
    }

    /// Turns the feed on and returns its generation. It reads the whole ledger, so no timeout applies.
    func enableFeed() async throws -> Int32 {
        try await connection.withTransaction { transaction in
            _ = try await transaction.query("SET LOCAL statement_timeout = 0")
            return try await transaction.query(.enableFeed())[0].decode(0)
        }
    }

    /// Stores an endpoint, which gets what follows.
    func make(_ new: NewEndpoint) async throws {
        _ = try await connection.query(
            .makeEndpoint(
                name: new.name,
                url: new.url,
                format: new.format.rawValue,
                types: new.types,
                bundleIDs: new.apps,
                environments: new.environments,
                withWrongBundle: new.withWrongBundle,
                keepsOrder: new.keepsOrder,
                maxInFlight: new.maximumInFlight,
                maxPerSecond: new.maximumPerSecond,
                timeoutSeconds: new.timeout
            )
        )
    }

    /// All endpoints by name.
    func all() async throws -> [Endpoint] {
        try await connection.query(.endpointList()).map(Endpoint.init)
    }

    /// - Throws: ``UnknownEndpoint``.
    func endpoint(_ name: String) async throws -> Endpoint {
        let all = try await all()
        guard let found = all.first(where: { $0.name == name }) else { throw UnknownEndpoint(name: name, known: all.map(\.name)) }
        return found
    }

    func pause(_ name: String, why: String?) async throws {
        _ = try await connection.query(.pauseEndpoint(name: name, why: why))
    }

    /// - Parameter position: the position after which it goes on; nil for where it was.
    func resume(_ name: String, after position: Int64?) async throws {
        _ = try await connection.query(.resumeEndpoint(name: name, after: position))
    }

    func remove(_ name: String) async throws {
        _ = try await connection.query(.removeEndpoint(name: name))
    }

    /// Returns the new generation of the secret.
    func rotate(_ name: String) async throws -> Int32 {
        try await connection.query(.rotateEndpointSecret(name: name))[0].decode(0)
    }

    /// Tells a test, and returns the id of its entry.
    func test(_ name: String) async throws -> UUID {
        try await connection.query(.testEndpoint(name: name))[0].decode(0)
    }

    /// The latest attempts to deliver to an endpoint, newest first.
    ///
    /// - Parameter id: of the entry; nil for any.
    func attempts(_ name: String, ofEntry id: UUID? = nil, most: Int) async throws -> [DeliveryAttempt] {
        try await connection.query(.endpointAttempts(name: name, id: id, most: Int64(most))).map(DeliveryAttempt.init)
    }

    /// The entries that are delivered again; nil for no bound.
    struct Range: Sendable {
        let first: Int64?
        let last: Int64?
        let from: PostgresTimestamp?
        let before: PostgresTimestamp?
        let types: [String]?
        /// Those that failed or were given up.
        let onlyFailed: Bool
    }

    /// Asks workers to deliver entries again; in a dry run only counts them.
    ///
    /// - Returns: how many, and the number of the redelivery; nil for failed ones, which are due at once.
    func redeliver(_ name: String, _ range: Range, note: String?, isDry: Bool) async throws -> (entries: Int64, redelivery: Int64?) {
        let row = try await connection.query(
            .redeliver(
                endpoint: name,
                fromPosition: range.first,
                uptoPosition: range.last,
                since: range.from,
                before: range.before,
                types: range.types,
                onlyFailed: range.onlyFailed,
                dryRun: isDry,
                note: note
            )
        )[0]
        let entries: Int64 = try row.decode(0)
        guard !isDry, !range.onlyFailed, entries > 0 else { return (entries, nil) }
        let newest = try await connection.query(.endpointRedeliveries(name: name, id: nil)).first
        return (entries, try newest?.decode("redelivery_id"))
    }

    /// A redelivery by its number; nil where its endpoint was removed.
    func redelivery(_ number: Int64) async throws -> Redelivery? {
        try await connection.query(.endpointRedeliveries(name: nil, id: number)).first.map(Redelivery.init)
    }
}

/// A range of the feed that an endpoint gets again.
struct Redelivery: Hashable, Sendable {
    private let number: Int64
    /// open, done, stopped, or aged: entries were gone before they were sent.
    let state: String
    /// Up to where it has come.
    private let position: Int64
    private let upto: Int64
    private let sent: Int64

    init(_ row: Row) throws {
        number = try row.decode("redelivery_id")
        state = try row.decode("state")
        position = try row.decode("after")
        upto = try row.decode("upto")
        sent = try row.decode("sent")
    }

    var json: JSONObject {
        [
            "state": .string(state), "redelivery": .integer(number), "position": .integer(position), "upto": .integer(upto),
            "sent": .integer(sent),
        ]
    }

    var words: String {
        state == "open" ? "\(sent) sent, at position \(position) of \(upto)" : "\(state), \(sent) sent"
    }
}
