import Postgres
import StoreSimulator

/// The notifications that were stored in an inbox.
struct Backlog: Sendable {
    var events = 0
    /// JWS in all of them.
    var signatures = 0
    var bytes = 0
    /// The number of notifications of each kind.
    var mix: [String: Int] = [:]
    /// Some of the bodies, to measure the cost of verification.
    var sample: [[UInt8]] = []

    static let sampleSize = 1000

    /// JWS in each event, on average.
    var signaturesPerEvent: Double { events > 0 ? Double(signatures) / Double(events) : 0 }

    /// Signs notifications and stores them in each database through `appstore.receive`, as ingest does.
    static func fill(
        _ databases: [String],
        of cluster: BenchmarkCluster,
        events: Int,
        traffic: inout SimulatedTraffic,
        store: BenchmarkStore
    ) async throws -> Backlog {
        var backlog = Backlog()
        var signed: [[UInt8]] = []
        while backlog.events < events {
            try Task.checkCancellation()
            let notifications = try await traffic.next(min(2000, events - backlog.events))
            // The last notifications are stored while the next are signed.
            let earlier = signed
            async let stored: Void = receive(earlier, in: databases, of: cluster)
            let bodies = try await store.bodies(of: notifications)
            try await stored
            backlog.add(notifications, bodies)
            signed = bodies
        }
        try await receive(signed, in: databases, of: cluster)
        return backlog
    }

    /// Stores bodies in their order.
    private static func receive(_ bodies: [[UInt8]], in databases: [String], of cluster: BenchmarkCluster) async throws {
        for database in databases where !bodies.isEmpty {
            try await cluster.withConnection(to: database) { connection in
                // Nothing is measured here, and the data need not survive a crash.
                try await connection.execute("SET synchronous_commit = off")
                for start in stride(from: 0, to: bodies.count, by: 64) {
                    let part = Array(bodies[start..<min(start + 64, bodies.count)])
                    try await connection.execute("SELECT FROM appstore.receive(\(part))")
                }
            }
        }
    }

    private mutating func add(_ notifications: [SimulatedNotification], _ bodies: [[UInt8]]) {
        events += bodies.count
        for (notification, body) in zip(notifications, bodies) {
            signatures += notification.signatureCount
            bytes += body.count
            mix[notification.kindText, default: 0] += 1
        }
        sample += bodies.prefix(Self.sampleSize - sample.count)
    }
}
