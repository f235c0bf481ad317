import AppStore
import FoundationEssentials
import InboxTesting
import Ledger
import LivesTesting
import Postgres
import PostgresTesting
import StoreSimulator
import Testing

/// One purchase from four sources: notification V1, notification V2, a posted receipt and a posted JWS.
struct FourSourcesTests {
    /// The evidence of ownership.
    enum OwnershipEvidence: CaseIterable, Sendable {
        /// An order that the purchase names.
        case token
        /// Only the posts.
        case posts
    }

    @Test(arguments: OwnershipEvidence.allCases, [1, 4]) func `a purchase from four sources counts once, in any order`(
        evidence: OwnershipEvidence,
        eventsInBatch: Int
    ) async throws {
        let ledger = try await LedgerFixture.open()
        let token = evidence == .token ? UUID() : nil
        let events = try Self.events(token: token)
        let command = token.map {
            LifeCommand.createOrder(ShopOrder(no: $0.text, user: "anna", product: Self.plan, bundle: nil))
        }
        let steps = try UnsignedFacts.facts(of: events).map(LedgerFixture.Step.event)
        let expected = ReferenceModel(events: events, commands: [command].compactMap(\.self)).lines()
        var digests: Set<[String]> = []
        for order in Self.orders(of: Array(steps.indices)) {
            if let command { try await ledger.run(command) }
            let batches = stride(from: 0, to: order.count, by: eventsInBatch).map { order[$0..<min($0 + eventsInBatch, order.count)] }
            for batch in batches { try await ledger.process(batch.map { steps[$0] }) }
            let found = try await ledger.lines()
            let difference = LedgerDifference.between(expected: expected, found: found)
            #expect(difference.isEmpty, "\(order)\n\(difference.joined(separator: "\n"))")
            #expect(found.filter { $0.hasPrefix("order ") }.count == 1)
            #expect(found.filter { $0.hasPrefix("effect ") }.count == 1)
            #expect(found.filter { $0.hasPrefix("contract ") && $0.contains("user_id=anna") }.count == 1)
            digests.insert(try await ledger.digests())
            try await ledger.database.emptyLedger()
        }
        #expect(digests.count == 1)
        try await ledger.close()
    }

    private static let plan = SimulatedCatalogue.sample(bundleID: HistoryGenerator.app.bundleID).plans.first?.id ?? ""

    private static func events(token: UUID?) throws -> [LifeEvent] {
        var store = SimulatedStore(app: HistoryGenerator.app, seed: 1, now: Timestamp(millisecondsSince1970: 1_600_000_000_123))
        var life = store.makeCustomer()
        let notification = try life.subscribe(appAccountToken: token)
        let dated = try #require(notification.state?.transaction)
        let made = notification.signedDate.advanced(by: .seconds(2))
        let receipt = LifeReceipt(
            receipt: SimulatedReceipt.receipt(of: notification.app, holding: [dated.value], madeAt: made),
            text: "receipt"
        )
        var answer = VerifyReceiptAnswer(app: notification.app, receipt: receipt.receipt, requestDate: made, transactions: [dated.value])
        answer.renewals = [notification.renewalInfo].compactMap(\.self)
        answer.latestReceipt = receipt.text
        let contents: [LifeEvent.Content] = [
            .legacy(LegacyNotification(.initialBuy, answer, receipt: receipt)),
            .notification(notification),
            .receipt(
                ReceiptPost(receipt: receipt, app: notification.app, user: "anna", transactionID: dated.value.transactionID)
            ),
            .post(LivesTesting.ClientPost(transaction: dated.value, signedDate: dated.signedDate, app: notification.app, user: "anna")),
        ]
        return contents.enumerated().map { index, content in
            LifeEvent(id: Int64(index) + 1, receivedAt: made.advanced(by: .seconds(Int64(index))), content: content)
        }
    }

    /// All 24 orders of four.
    private static func orders(of indices: [Int]) -> [[Int]] {
        guard indices.count > 1 else { return [indices] }
        return indices.flatMap { first in orders(of: indices.filter { $0 != first }).map { [first] + $0 } }
    }
}

extension TestDatabase {
    /// Empties the ledger's tables.
    func emptyLedger() async throws {
        _ = try await withConnection { connection in
            try await connection.execute(
                """
                TRUNCATE appstore.transactions, appstore.v1_renewals, appstore.orders, appstore.ownership_claims,
                         appstore.contracts, appstore.effects, appstore.client_posts,
                         appstore.refund_requests, appstore.seen_notifications, appstore.event_contracts
                """
            )
        }
    }
}
