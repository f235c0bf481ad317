import AppStore
import EndToEndTesting
import Foundation
import Postgres
import StoreSimulator
import Testing

extension EndToEnd {
    /// Events of unknown types, and events signed in the future.
    @Suite struct UnknownTypeTests {
        @Test(arguments: [("GIFT_WRAPPED", nil), ("SUBSCRIBED", "BY_TELEPATHY")] as [(String, String?)])
        func `an unknown notification is unhandled, its facts are merged, and it can be requeued`(type: String, subtype: String?)
            async throws
        {
            var shop = try Shop()
            var life = shop.makeCustomer()
            var unknown = try life.subscribe()
            unknown.type = NotificationTypeV2(rawValue: type)
            unknown.subtype = subtype.map(Subtype.init(rawValue:))
            try await Installation.lend { installation in
                let (sql, ingest) = (installation.sql, try await installation.startIngest())
                _ = try await installation.startWorker(for: shop)
                _ = try await ingest.client.post(shop.body(unknown))
                let event = try await sql.settled(1)[0]
                #expect((event.outcome, event.reason, event.notificationType) == ("unhandled", "unknown_notification", type))
                #expect(try await sql.values("SELECT transaction_id FROM appstore.transactions") == [unknown.transactionID ?? ""])
                #expect(try await sql.values("SELECT kind FROM appstore.effects") == ["granted"])

                try await installation.asOperator { connection in
                    _ = try await connection.query("SELECT appstore.requeue(result => 'unhandled')")
                }
                try await sql.awaitRun(2, of: 1)
                #expect(try await sql.outcomes() == ["unhandled"])
                #expect(try await sql.values("SELECT kind FROM appstore.effects") == ["granted"])
            }
        }

        @Test func `an event signed slightly too far in the future is applied once the tolerance covers it`() async throws {
            var shop = try Shop()
            let purchase = try shop.purchases(1)[0]
            try await Installation.lend { installation in
                let (sql, ingest) = (installation.sql, try await installation.startIngest())
                _ = try await installation.startWorker(for: shop)
                // Five minutes are tolerated: a second too early.
                _ = try await ingest.client.post(shop.body(Self.postponed(purchase, by: .seconds(301))))
                let event = try await sql.settled(1)[0]
                #expect(event.outcome == "applied")
                #expect(event.attempts > 1)
            }
        }

        /// The notification with dates of a store whose clock is ahead.
        private static func postponed(_ notification: SimulatedNotification, by duration: Duration) throws -> SimulatedNotification {
            let now = Timestamp(millisecondsSince1970: Int64(Date().timeIntervalSince1970 * 1000))
            return notification.resigned(at: now.advanced(by: duration))
        }
    }
}
