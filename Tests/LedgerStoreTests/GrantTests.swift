import AppStore
import InboxTesting
import Ledger
import LedgerTesting
import Postgres
import PostgresTesting
import Testing

/// A charge is granted once, whether or not the facts that tell of it name its period. Facts that name different periods for one charge
/// contradict one another, and grant each of these.
struct GrantTests {
    private static let charge = Facts.Charge("1", onDay: 1)

    /// What Apple may say of the charge, one fact an event.
    private enum Telling: CaseIterable, Sendable {
        case withPeriod, withoutPeriod, laterWithoutPeriod

        func event(_ id: Int64) throws -> EventFacts {
            let charge = GrantTests.charge.with {
                if self != .withPeriod { $0.lineItem = nil }
                if self == .laterWithoutPeriod { $0.signedDay = 3 }
            }
            let subject = charge.lineItem.map { "\(charge.contract)/\($0)" } ?? charge.id
            let granted = Effect(
                key: EffectKey(environment: .production, kind: .granted, subject: subject),
                occurredAt: Facts.timestamp(Facts.day(charge.purchaseDay)),
                originalTransactionID: charge.contract,
                transactionID: charge.id,
                productID: charge.product
            )
            // With a renewal, as notifications have it: the charge could be applied on the fast path.
            let renewal = Facts.subscription(charge.contract, signedDate: Facts.day(charge.signedDay), status: .active)
            return Facts.event(id, transaction: try charge.fact(), subscription: renewal, effects: [granted])
        }
    }

    private static let orders: [[Telling]] = [
        [.withPeriod, .withoutPeriod], [.withoutPeriod, .withPeriod], [.withPeriod, .laterWithoutPeriod],
        [.laterWithoutPeriod, .withPeriod],
        [.withPeriod, .laterWithoutPeriod, .withoutPeriod], [.withoutPeriod, .withPeriod, .laterWithoutPeriod],
        [.withoutPeriod, .withPeriod, .withPeriod], [.laterWithoutPeriod, .withPeriod, .withPeriod],
    ]

    @Test(arguments: orders, [true, false])
    private func `a charge is granted once`(tellings: [Telling], inOneBatch: Bool) async throws {
        try await Books.with { books in
            let events = try tellings.enumerated().map { try $1.event(Int64($0 + 1)) }
            for batch in inOneBatch ? [events] : events.map({ [$0] }) {
                _ = try await books.mergeWithEffects(batch)
            }
            #expect(try await books.database.lines("SELECT kind || ' ' || transaction_id FROM appstore.effects") == ["granted 1"])
        }
    }

    @Test func `the digest does not depend on which fact granted the charge`() async throws {
        var digests: Set<[String]> = []
        for tellings in [
            [Telling.withPeriod, .withoutPeriod], [.withoutPeriod, .withPeriod], [.withoutPeriod, .withPeriod, .withPeriod],
        ] {
            try await Books.with { books in
                for (index, telling) in tellings.enumerated() { _ = try await books.mergeWithEffects([telling.event(Int64(index + 1))]) }
                digests.insert(try await books.database.lines("SELECT appstore.state_digest('Production')"))
            }
        }
        #expect(digests.count == 1)
    }
}
