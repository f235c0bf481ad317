import FoundationEssentials
import Postgres
import SQL

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

    let connection: Connection

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
}
