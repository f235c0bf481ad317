import Foundation
import Glibc
import PostgresTesting
import StoreSimulator
import Synchronization

/// Clients that post purchases, like Apple: each again until it is answered with 200.
package struct Load: Sendable {
    /// The answers that the clients received.
    package struct Report: Sendable {
        /// Answered with 200.
        package var bodies: [[UInt8]] = []
        /// The notificationUUIDs of those.
        package var uuids: Set<String> = []
        /// How often each status was answered.
        package var statuses: [Int: Int] = [:]

        package mutating func merge(_ other: Report) {
            bodies += other.bodies
            uuids.formUnion(other.uuids)
            statuses.merge(other.statuses, uniquingKeysWith: +)
        }
    }

    private let shop: Shop
    private let clients: Int
    private let port: Int
    private let stop = Stop()

    private final class Stop: Sendable {
        let requested = Atomic(false)
    }

    package init(shop: Shop, clients: Int, port: Int) {
        self.shop = shop
        self.clients = clients
        self.port = port
    }

    /// Runs the clients while `body` runs, and returns after the last answer of each.
    package func run(_ body: () async throws -> Void) async throws -> Report {
        try await withThrowingTaskGroup(of: Report.self) { group in
            for client in 0..<clients {
                let (stop, port) = (stop, port)
                let shop = try Shop(seed: shop.seed &* 1000 &+ UInt64(client) &+ 1, authority: shop.authority)
                group.addTask { try await blocking { try Self.post(of: shop, to: port, until: stop) } }
            }
            let result = await Result { try await body() }
            stop.requested.store(true, ordering: .relaxed)
            var report = Report()
            for try await seen in group { report.merge(seen) }
            try result.get()
            return report
        }
    }

    private static func post(of shop: Shop, to port: Int, until stop: Stop) throws -> Report {
        var (shop, report) = (shop, Report())
        var connection: HTTPConnection?
        while !stop.requested.load(ordering: .relaxed) {
            let purchase = try shop.purchases(1)[0]
            let body = try shop.body(purchase)
            var status: Int?
            repeat {
                connection = try connection ?? connect(port)
                do {
                    let fields = ["content-type": "application/json"]
                    status = try connection?.exchange("POST", HTTPClient.notifications, fields: fields, body: body).status
                } catch is NoAnswer {
                    (status, connection) = (nil, nil)
                }
                if let status { report.statuses[status, default: 0] += 1 }
                // A few hundred requests a second suffice, and leave the cores to the daemons.
                poll(nil, 0, status == 200 ? 4 : 25)
            } while status != 200 && !stop.requested.load(ordering: .relaxed)
            if status == 200 {
                report.bodies.append(body)
                report.uuids.insert(purchase.notificationUUID.uuidString.lowercased())
            }
        }
        return report
    }

    /// Nil when the connection is refused.
    private static func connect(_ port: Int) throws -> HTTPConnection? {
        do {
            return try HTTPConnection(port: port)
        } catch is NoAnswer {
            return nil
        }
    }
}

extension Result where Failure == any Error {
    package init(catching body: () async throws -> Success) async {
        do {
            self = .success(try await body())
        } catch {
            self = .failure(error)
        }
    }
}
