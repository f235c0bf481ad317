import AppStore
import FoundationEssentials
import InboxTesting
import Interpretation
import Ledger
import LedgerStore
import LivesTesting
import Postgres
import PostgresTesting
import StoreSimulator
import Testing

/// The number of SQL statements for a receipt does not grow with the number of its purchases.
@Suite(.serialized) struct ReceiptStatementTests {
    @Test(arguments: [1, 3]) func `a receipt with 187 purchases takes as many statements as a small one`(subscriptions: Int) async throws {
        let apple = LegacySettings(mode: .apple, appsWithSecret: [HistoryGenerator.app.bundleID])
        let counter = try await StatementCounter.open()
        var counts: [[Int]] = []
        // The first receipts open the connection and are not counted.
        for (number, purchases) in [1, subscriptions, 187, 187].enumerated() {
            counts.append([])
            for settings in [LegacySettings.local, apple] {
                let event = try Self.event(2 * number + counts[number].count, purchases: purchases, subscriptions: subscriptions)
                let fold = BatchFold(try UnsignedFacts.facts(of: [event], settings: settings))
                counts[number].append(try await counter.statements(toMerge: fold))
            }
        }
        // The charges of receipts that are sent to Apple come with the answer.
        #expect(try await counter.rows("transactions") == 1 + subscriptions + 187 + 187)
        #expect(try await counter.rows("outbox") == 4)
        // An outcome names the only contract of a receipt; several contracts have a row each.
        #expect(try await counter.rows("event_contracts") == (subscriptions > 1 ? 2 * 3 * subscriptions : 0))
        #expect(Set(counts.dropFirst()).count == 1, "\(counts)")
        // BEGIN and COMMIT, registers, derived tables, effects, first posts and contracts. With Apple's answer pending, the outbox call
        // replaces
        // registers and effects.
        let (local, asking) = (counts[1][0], counts[1][1])
        #expect((1...11).contains(local) && asking <= local, "\(counts)")
        try await counter.close()
    }

    @Test func `several contracts take one statement more than one`() async throws {
        let counter = try await StatementCounter.open()
        var counts: [Int] = []
        for (number, subscriptions) in [1, 1, 2, 3].enumerated() {
            let fold = BatchFold(try UnsignedFacts.facts(of: [try Self.event(number, purchases: 187, subscriptions: subscriptions)]))
            counts.append(try await counter.statements(toMerge: fold))
        }
        #expect(counts[2] == counts[1] + 1 && counts[3] == counts[2], "\(counts)")
        try await counter.close()
    }

    /// A posted receipt with that many purchases: periods of subscriptions, and consumables.
    ///
    /// - Parameter subscriptions: the number of subscription groups, as far as the purchases suffice.
    private static func event(_ number: Int, purchases: Int, subscriptions: Int) throws -> LifeEvent {
        let first = UInt64(1 + number) * 1_000_000
        var lives = try (0..<subscriptions).map { group in
            var store = SimulatedStore(
                app: HistoryGenerator.app,
                seed: UInt64(number * 10 + group),
                now: Timestamp(millisecondsSince1970: 1_400_000_000_000)
            )
            var life = store.makeCustomer()
            life.numberCharges(from: first + UInt64(group) * 100_000, step: 1)
            _ = try life.subscribe()
            return life
        }
        let consumable = try #require(lives[0].catalogue.oneTimeProducts.first { $0.type == .consumable })
        while lives.reduce(0, { $0 + $1.transactions.count }) < purchases {
            for index in lives.indices { _ = try lives[index].renew() }
            _ = try lives[0].buy(consumable)
        }
        // First one charge of each contract.
        let transactions = lives.map { $0.transactions[0] } + lives.flatMap { $0.transactions.dropFirst() }
        let now = try #require(lives.map(\.now).max())
        let receipt = LifeReceipt(
            receipt: SimulatedReceipt.receipt(of: HistoryGenerator.app, holding: Array(transactions.prefix(purchases)), madeAt: now),
            text: "receipt-\(number)"
        )
        let named = transactions[purchases - 1].transactionID
        let post = ReceiptPost(receipt: receipt, app: HistoryGenerator.app, user: "anna", transactionID: named)
        return LifeEvent(id: Int64(number) + 1, receivedAt: now, content: .receipt(post))
    }
}

extension CustomerLife {
    /// All charges, the subscription's first.
    fileprivate var transactions: [SimulatedTransaction] { (subscription?.transactions ?? []) + oneTimeCharges }
}
