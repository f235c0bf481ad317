import AppStore
import EndToEndTesting
import Foundation
import Postgres
import StoreSimulator
import Testing

extension EndToEnd {
    @Suite struct DuplicateTests {
        /// Whether the copies arrive after the first is settled, or all are in one batch.
        enum Arrival: CaseIterable {
            case afterTheFirst, together
        }

        @Test(arguments: Arrival.allCases)
        func `copies of a notification are applied once`(arrival: Arrival) async throws {
            // With several batches in flight, a copy or a later state of the charge might be settled first.
            let inOrder = ["APPSTORE_INBOX_CONCURRENCY": "1"]
            var shop = try Shop()
            let life = try shop.shortLife()
            let once = try shop.bodies(life)
            let resigned = try shop.bodies(life.map { $0.resigned(at: $0.signedDate.advanced(by: .seconds(3600))) })
            try await Installation.lend { installation in
                let ingest = try await installation.startIngest()
                var expected: [String]?
                if arrival == .afterTheFirst {
                    _ = try await installation.startWorker(for: shop, inOrder)
                    _ = try await ingest.client.post(once)
                    try await installation.sql.settled(once.count)
                    expected = try await installation.sql.digest()
                    _ = try await ingest.client.post(once + once + resigned)
                } else {
                    _ = try await ingest.client.post(once + once + once + resigned)
                    _ = try await installation.startWorker(for: shop, inOrder)
                }
                let events = try await installation.sql.settled(4 * once.count)

                for notification in life {
                    let uuid = notification.notificationUUID.uuidString.lowercased()
                    let outcomes = events.filter { $0.notificationUUID == uuid }.compactMap(\.outcome).sorted()
                    #expect(outcomes == ["applied", "duplicate", "duplicate", "duplicate"], "\(notification.type)")
                }
                let sql = try await installation.sql.digest()
                if let expected { #expect(difference(expected, sql) == []) }
                let effects = try await installation.sql.values("SELECT kind FROM appstore.effects ORDER BY kind")
                #expect(effects == ["granted", "granted", "refunded", "will_not_renew"])
            }
        }
    }
}
