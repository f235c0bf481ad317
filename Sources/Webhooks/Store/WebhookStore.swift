import Postgres
import SQL

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
