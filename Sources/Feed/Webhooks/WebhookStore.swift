import FoundationEssentials
import Postgres
import SQL
import ServiceSupport

/// Runs the statements of the webhooks. All but the first name the lease, and change nothing when another one has begun.
struct WebhookStore: Sendable {
    let pool: ConnectionPool

    /// Leases endpoints that no process serves.
    func lease(atMost slots: Int, seconds: Int) async throws -> [EndpointLease] {
        let rows = try await pool.query(.leaseEndpoints(slots: Int32(slots), seconds: Int32(seconds)))
        return try rows.map(EndpointLease.init)
    }

    /// An endpoint that still is ours.
    struct Polled: Sendable {
        let name: String
        let hasWork: Bool
        let settings: EndpointSettings
    }

    /// Renews leases. Returns the endpoints that still are ours.
    func poll(_ endpoints: [(name: String, epoch: Int64, after: Int64)], seconds: Int) async throws -> [Polled] {
        let statement = Statement.pollEndpoints(
            names: endpoints.map(\.name),
            epochs: endpoints.map(\.epoch),
            after: endpoints.map(\.after),
            seconds: Int32(seconds)
        )
        return try await pool.query(statement).map { row in
            Polled(name: try row.decode("name"), hasWork: try row.decode("has_work"), settings: try EndpointSettings(row))
        }
    }

    func take(_ request: TakeRequest, name: String, epoch: Int64) async throws -> TakenEntries {
        let statement = Statement.takeDeliveries(
            name: name,
            epoch: epoch,
            after: request.after,
            inFlight: request.known,
            most: Int32(request.most),
            mostRedelivered: Int32(request.mostRedelivered),
            mostBytes: Int32(clamping: request.mostBytes)
        )
        var taken = TakenEntries()
        for row in try await pool.query(statement) {
            let position: Int64 = try row.decode("position")
            switch try row.decode("kind", as: String.self) {
            case "through": taken.through = position
            case "redelivered_through": taken.redeliveredThrough = (try row.decode("redelivery_id"), position)
            case let kind: if let kind = FeedEntry.Kind(rawValue: kind) { taken.entries.append(try FeedEntry(row, kind, at: position)) }
            }
        }
        return taken
    }

    /// False when another lease has begun.
    func settle(_ settlement: DeliverySettlement, name: String, epoch: Int64) async throws -> Bool {
        let rows = try await pool.query(settlement.statement(name: name, epoch: epoch))
        return try rows.first?.decode(0) ?? false
    }

    /// Ends a lease.
    func release(name: String, epoch: Int64) async throws {
        _ = try await pool.query(.releaseEndpoint(name: name, epoch: epoch))
    }
}

extension DeliverySettlement {
    func statement(name: String, epoch: Int64) -> Statement {
        let waits: [Int64?] = reports.map { $0.wait?.milliseconds }
        let statuses: [Int32?] = reports.map { $0.status.map(Int32.init) }
        let milliseconds: [Int32] = reports.map { Int32(clamping: $0.duration.milliseconds) }
        let attempts: [Int32] = reports.map { Int32($0.attempts) }
        let answerBytes: [Int64] = reports.map { Int64($0.answerBytes) }
        let (through, ids): ([Int64], [Int64]) = redeliveredThrough.map { ([$0.position], [$0.id]) } ?? ([], [])
        return .settleDeliveries(
            name: name,
            epoch: epoch,
            position: position,
            positions: reports.map(\.position),
            subjects: reports.map(\.subject),
            results: reports.map(\.result.rawValue),
            attempts: attempts,
            waitMS: waits,
            statuses: statuses,
            milliseconds: milliseconds,
            answerBytes: answerBytes,
            answers: reports.map(\.answer),
            errors: reports.map(\.error),
            redeliveries: reports.map(\.redeliveryID),
            failures: Int32(clamping: failures),
            isFailing: isFailing,
            openForMS: openFor?.milliseconds,
            probes: Int32(clamping: probes),
            disableBecause: disableBecause,
            redeliveredThrough: through,
            redeliveryIDs: ids
        )
    }
}

extension EndpointLease {
    init(_ row: Row) throws {
        self.init(
            name: try row.decode("name"),
            endpointID: try row.decode("endpoint_id"),
            epoch: try row.decode("epoch"),
            settings: try EndpointSettings(row),
            position: try row.decode("position"),
            failures: Int(try row.decode("failures", as: Int32.self)),
            failingFor: try row.duration("failing_since_ms"),
            openFor: try row.duration("open_for_ms"),
            probes: Int(try row.decode("probes", as: Int32.self))
        )
    }
}

extension EndpointSettings {
    init(_ row: Row) throws {
        self.init(
            url: try row.decode("url"),
            keepsOrder: try row.decode("keeps_order"),
            window: Int(try row.decode("max_in_flight", as: Int32.self)),
            perSecond: try row.decode("max_per_second", as: Int32?.self).map { Int($0) },
            timeout: .seconds(Int(try row.decode("timeout_seconds", as: Int32.self))),
            secretGeneration: Int(try row.decode("secret_generation", as: Int32.self)),
            hasPreviousSecret: try row.decode("previous_secret")
        )
    }
}

extension FeedEntry {
    init(_ row: Row, _ kind: Kind, at position: Int64) throws {
        self.init(
            kind: kind,
            position: position,
            redeliveryID: try row.decode("redelivery_id"),
            id: try row.decode("id"),
            type: try row.decode("type"),
            subject: try row.decode("subject"),
            attempts: Int(try row.decode("attempts", as: Int32.self)),
            heldFor: try row.duration("held_ms"),
            body: try row.decode("body_missing") ? nil : row.decode("body")
        )
    }
}

extension Row {
    fileprivate func duration(_ column: String) throws -> Duration? {
        try decode(column, as: Int64?.self).map { .milliseconds($0) }
    }
}

/// An endpoint that this process serves until the lease ends.
struct EndpointLease: Sendable {
    let name: String
    let endpointID: UUID
    let epoch: Int64
    let settings: EndpointSettings
    /// Everything up to it is delivered, unwanted, or an open delivery.
    let position: Int64
    /// Failures in a row.
    let failures: Int
    /// Since when the endpoint has had failures and no success.
    let failingFor: Duration?
    /// When the next probe is due; nil while the breaker is closed.
    let openFor: Duration?
    let probes: Int
}

/// What an operator may change while an endpoint is served.
struct EndpointSettings: Hashable, Sendable {
    let url: String
    let keepsOrder: Bool
    /// How many entries are in flight at most.
    let window: Int
    let perSecond: Int?
    let timeout: Duration
    let secretGeneration: Int
    /// Whether the secret of the generation before signs as well.
    let hasPreviousSecret: Bool
}

/// An entry of the feed that an endpoint is to get.
struct FeedEntry: Sendable {
    enum Kind: String, Sendable {
        /// An open delivery whose time has come.
        case due
        /// It follows what was read before.
        case next
        /// An operator asked for it again.
        case redelivery
    }

    let kind: Kind
    let position: Int64
    let redeliveryID: Int64?
    let id: UUID
    let type: String
    let subject: String?
    /// Failed attempts.
    let attempts: Int
    /// For how long an earlier entry of its subject holds it; nil when none does.
    let heldFor: Duration?
    /// Nil when it has aged or was forgotten.
    let body: [UInt8]?
}

extension FeedEntry: CustomStringConvertible, CustomReflectable {
    /// Without the body.
    var description: String { "\(kind) \(position)" }
    var customMirror: Mirror { Mirror(self, children: ["position": position]) }
}

/// What the database gives to send.
struct TakenEntries: Sendable {
    var entries: [FeedEntry] = []
    /// How far the feed was read; nil: no further than before.
    var through: Int64?
    /// How far the feed was read for a redelivery.
    var redeliveredThrough: (id: Int64, position: Int64)?
}

/// What the database is asked for.
struct TakeRequest: Hashable, Sendable {
    let after: Int64
    /// Positions that are in memory, or reported and not settled.
    let known: [Int64]
    let most: Int
    let mostRedelivered: Int
    let mostBytes: Int
}
