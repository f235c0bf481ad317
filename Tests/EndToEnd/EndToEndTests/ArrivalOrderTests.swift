import AppStore
import EndToEndTesting
import Foundation
import Postgres
import StoreSimulator
import Synchronization
import Testing

extension EndToEnd {
    @Suite struct ArrivalOrderTests {
        /// An order of arrival of purchase, renewal, cancellation, refund and the shop's order.
        struct Arrival: Sendable, CustomTestStringConvertible {
            /// Indices into the customer's events.
            var sequence: [Int]
            /// The number of events before the order.
            var orderAfter = 0
            /// Whether each event is settled before the next is posted; otherwise all are one batch.
            var oneByOne = true

            var testDescription: String { "\(sequence), order after \(orderAfter)\(oneByOne ? "" : ", in one batch")" }
        }

        static let arrivals = [
            Arrival(sequence: [3, 2, 1, 0]),
            Arrival(sequence: [3, 2, 1, 0], orderAfter: 4, oneByOne: false),
            Arrival(sequence: [1, 0, 3, 2], orderAfter: 1),
            Arrival(sequence: [2, 3, 0, 1], orderAfter: 2),
            Arrival(sequence: [3, 0, 2, 1], orderAfter: 4),
            Arrival(sequence: [0, 1, 2, 3], orderAfter: 4),
            Arrival(sequence: [1, 3, 1, 0, 2, 3, 0], orderAfter: 3),
            Arrival(sequence: [0, 3, 1, 2, 0], orderAfter: 5, oneByOne: false),
        ]

        private static let token = UUID()
        /// One customer's events, signed once, and the ledger after they arrived in the original order.
        private static let expected = Mutex<(shop: Shop, bodies: [[UInt8]], books: [String])?>(nil)

        @Test(arguments: arrivals)
        func `the ledger does not depend on the order of arrival`(arrival: Arrival) async throws {
            let (shop, bodies, inOrder) = try await expected()
            try await Installation.lend { installation in
                let books = try await books(of: bodies, arriving: arrival, in: installation, shop)
                #expect(difference(inOrder, books) == [])
            }
        }

        @Test func `events in the original order have the expected result`() async throws {
            var shop = try Shop()
            let life = try shop.shortLife(token: Self.token)
            let bodies = try shop.bodies(life)
            try await Installation.lend { installation in
                _ = try await books(of: bodies, arriving: Arrival(sequence: [0, 1, 2, 3]), in: installation, shop)
                let orders = try await installation.books.values(
                    "SELECT concat_ws(' ', user_id, status, transaction_id, original_transaction_id) FROM appstore.orders ORDER BY paid_at"
                )
                let (first, second) = (life[0].transactionID ?? "", life[1].transactionID ?? "")
                #expect(orders == ["tom paid \(first) \(first)", "tom refunded \(second) \(first)"])
                let contract = try await installation.books.values(
                    "SELECT concat_ws(' ', user_id, original_transaction_id, will_renew) FROM appstore.contracts"
                )
                #expect(contract == ["tom \(first) f"])
                let timeline = try await installation.books.values(
                    "SELECT concat_ws(' ', what, transaction_id) FROM appstore.timeline('Production', \(first))"
                )
                let expected = [
                    "order_made", "granted \(first)", "order_paid \(first)", "granted \(second)", "order_paid \(second)",
                    "will_not_renew \(second)", "refunded \(second)", "access_ended",
                ]
                #expect(timeline.sorted() == expected.sorted())
            }
        }

        /// Computed by the first case: the suite is serialized.
        private func expected() async throws -> (shop: Shop, bodies: [[UInt8]], books: [String]) {
            if let known = Self.expected.withLock({ $0 }) { return known }
            var shop = try Shop()
            let bodies = try shop.bodies(shop.shortLife(token: Self.token))
            let made = shop
            try await Installation.lend { installation in
                let books = try await books(of: bodies, arriving: Arrival(sequence: [0, 1, 2, 3]), in: installation, made)
                Self.expected.withLock { $0 = (made, bodies, books) }
            }
            return try #require(Self.expected.withLock { $0 })
        }

        /// Runs an arrival and returns the ledger's digest.
        private func books(
            of bodies: [[UInt8]],
            arriving arrival: Arrival,
            in installation: Installation,
            _ shop: Shop
        ) async throws -> [String] {
            let ingest = try await installation.startIngest()
            let one = ["APPSTORE_INBOX_BATCH_SIZE": "1", "APPSTORE_INBOX_CONCURRENCY": "1"]
            func makeOrder() async throws {
                try await installation.books.makeOrder(user: "tom", product: shop.plan.id, no: Self.token.uuidString)
            }
            if arrival.oneByOne { _ = try await installation.startWorker(for: shop, one) }
            for (position, index) in arrival.sequence.enumerated() {
                if position == arrival.orderAfter { try await makeOrder() }
                _ = try await ingest.client.post(bodies[index])
                if arrival.oneByOne { try await installation.books.settled(position + 1) }
            }
            if !arrival.oneByOne { _ = try await installation.startWorker(for: shop, ["APPSTORE_INBOX_CONCURRENCY": "1"]) }
            try await installation.books.settled(arrival.sequence.count)
            if arrival.orderAfter >= arrival.sequence.count { try await makeOrder() }
            return try await installation.books.digest() + installation.books.stateDigests()
        }
    }
}
