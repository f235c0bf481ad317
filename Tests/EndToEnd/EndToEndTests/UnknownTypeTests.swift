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
                let (books, ingest) = (installation.books, try await installation.startIngest())
                _ = try await installation.startWorker(for: shop)
                _ = try await ingest.client.post(shop.body(unknown))
                let event = try await books.settled(1)[0]
                #expect((event.outcome, event.reason, event.notificationType) == ("unhandled", "unknown_notification", type))
                #expect(try await books.values("SELECT transaction_id FROM appstore.transactions") == [unknown.transactionID ?? ""])
                #expect(try await books.values("SELECT kind FROM appstore.effects") == ["granted"])

                try await installation.asOperator { connection in
                    _ = try await connection.query("SELECT appstore.requeue_events(result => 'unhandled')")
                }
                try await books.awaitRun(2, of: 1)
                #expect(try await books.outcomes() == ["unhandled"])
                #expect(try await books.values("SELECT kind FROM appstore.effects") == ["granted"])
            }
        }

        @Test func `events that an older version could not handle are applied by one call after an upgrade`() async throws {
            var shop = try Shop()
            let bodies = try shop.bodies(shop.shortLife())
            try await Installation.lend { installation in
                let (books, ingest) = (installation.books, try await installation.startIngest())
                _ = try await ingest.client.post(bodies)
                // The outcome that a version without these types records.
                try await books.execute(
                    """
                    WITH known AS (DELETE FROM appstore.inbox_queue RETURNING event_id)
                    INSERT INTO appstore.outcomes (event_id, source, received_at, settled_at, run, attempts, result, reason)
                    SELECT event_id, source, received_at, clock_timestamp(), 1, 1, 'unhandled', 'unknown_notification'
                    FROM appstore.inbox JOIN known USING (event_id)
                    """
                )
                try await installation.asOperator { connection in
                    let requeued = try await connection.query("SELECT appstore.requeue_events(result => 'unhandled')")
                    #expect(try requeued[0].decode(0) == bodies.count)
                }
                _ = try await installation.startWorker(for: shop)
                try await books.awaitRun(2, of: bodies.count)
                #expect(try await books.value(Int.self, "SELECT count(*) FROM appstore.outcomes WHERE result = 'unhandled'") == 0)
                let effects = try await books.values("SELECT kind FROM appstore.effects ORDER BY kind")
                #expect(effects == ["granted", "granted", "refunded", "will_not_renew"])
            }
        }

        @Test func `an event signed in the future waits`() async throws {
            var shop = try Shop()
            let early = try Self.postponed(try shop.purchases(1)[0], by: .seconds(600))
            try await Installation.lend { installation in
                let (books, ingest) = (installation.books, try await installation.startIngest())
                _ = try await installation.startWorker(for: shop)
                _ = try await ingest.client.post(shop.body(early))
                let event = try await eventually("the event was tried") {
                    try await books.events().first { $0.attempts > 0 }
                }
                #expect(event.state == "waiting")
                #expect(event.lastError?.contains("signed_in_the_future") == true)
                #expect(try await books.areEmpty())
            }
        }

        @Test func `an event signed slightly too far in the future is applied once the tolerance covers it`() async throws {
            var shop = try Shop()
            let purchase = try shop.purchases(1)[0]
            try await Installation.lend { installation in
                let (books, ingest) = (installation.books, try await installation.startIngest())
                _ = try await installation.startWorker(for: shop)
                // Five minutes are tolerated: three seconds too early.
                _ = try await ingest.client.post(shop.body(Self.postponed(purchase, by: .seconds(303))))
                let event = try await books.settled(1)[0]
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
