import EndToEndTesting
import Foundation
import Postgres
import StoreSimulator
import Testing

extension EndToEnd {
    @Suite struct ArrivalOrderTests {
        /// An order of arrival of purchase, renewal, cancellation, refund and the shop's order.
        private struct Arrival {
            /// Indices into the customer's events.
            var sequence: [Int]
            /// The number of events before the order.
            var orderAfter = 0
            /// Whether each event is settled before the next is posted; otherwise all are one batch.
            var oneByOne = true
        }

        private static let arrivals = [
            Arrival(sequence: [3, 2, 1, 0]), Arrival(sequence: [1, 3, 1, 0, 2, 3, 0], orderAfter: 3),
            Arrival(sequence: [0, 3, 1, 2, 0], orderAfter: 5, oneByOne: false),
        ]
        private static let token = UUID()

        @Test func `the ledger does not depend on the order of arrival`() async throws {
            var shop = try Shop()
            let life = try shop.shortLife(token: Self.token)
            let bodies = try shop.bodies(life)
            var expected: [String] = []
            try await Installation.lend { installation in
                expected = try await ledger(of: bodies, arriving: Arrival(sequence: [0, 1, 2, 3]), in: installation, shop)
                try await expectResult(of: life, in: installation.sql)
            }
            for arrival in Self.arrivals {
                try await Installation.lend { installation in
                    let found = try await ledger(of: bodies, arriving: arrival, in: installation, shop)
                    #expect(difference(expected, found) == [], "\(arrival)")
                }
            }
        }

        private func expectResult(of life: [SimulatedNotification], in sql: SQLAccess) async throws {
            let (first, second) = (life[0].transactionID ?? "", life[1].transactionID ?? "")
            let orders = try await sql.values(
                "SELECT concat_ws(' ', user_id, status, transaction_id, original_transaction_id) FROM appstore.orders ORDER BY paid_at"
            )
            #expect(orders == ["tom paid \(first) \(first)", "tom refunded \(second) \(first)"])
            let contract = try await sql.values(
                "SELECT concat_ws(' ', user_id, original_transaction_id, will_renew) FROM appstore.contracts"
            )
            #expect(contract == ["tom \(first) f"])
            let timeline = try await sql.values(
                "SELECT concat_ws(' ', what, transaction_id) FROM appstore.timeline('Production', \(first))"
            )
            let expected = [
                "order_made", "granted \(first)", "order_paid \(first)", "granted \(second)", "order_paid \(second)",
                "will_not_renew \(second)", "refunded \(second)", "access_ended",
            ]
            #expect(timeline.sorted() == expected.sorted())
        }

        /// Runs an arrival and returns the ledger's digest.
        private func ledger(
            of bodies: [[UInt8]],
            arriving arrival: Arrival,
            in installation: Installation,
            _ shop: Shop
        ) async throws -> [String] {
            let (sql, ingest) = (installation.sql, try await installation.startIngest())
            func makeOrder() async throws {
                try await sql.makeOrder(user: "tom", product: shop.plan.id, no: Self.token.uuidString)
            }
            let inOrder = ["APPSTORE_INBOX_CONCURRENCY": "1"]
            if arrival.oneByOne { _ = try await installation.startWorker(for: shop, inOrder) }
            for (position, index) in arrival.sequence.enumerated() {
                if position == arrival.orderAfter { try await makeOrder() }
                _ = try await ingest.client.post(bodies[index])
                if arrival.oneByOne { try await sql.settled(position + 1) }
            }
            if !arrival.oneByOne { _ = try await installation.startWorker(for: shop, inOrder) }
            try await sql.settled(arrival.sequence.count)
            if arrival.orderAfter >= arrival.sequence.count { try await makeOrder() }
            return try await sql.digest() + sql.stateDigests()
        }
    }
}
