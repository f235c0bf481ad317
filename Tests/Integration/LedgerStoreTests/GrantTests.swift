import AppStore
import InboxTesting
import Ledger
import LedgerTesting
import Postgres
import Testing

/// A charge is granted once, whether or not its facts name its period. Facts that name different periods for one charge
/// contradict each other, and grant each period.
struct GrantTests {
    private static let charge = Facts.Charge("1", onDay: 1)

    /// The forms in which Apple may report the charge, one fact for each event.
    private enum Report: CaseIterable, Sendable {
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
            // With a renewal, like notifications: the charge can take the fast path.
            let renewal = Facts.subscription(charge.contract, signedDate: Facts.day(charge.signedDay), status: .active)
            return Facts.event(id, transaction: try charge.fact(), subscription: renewal, effects: [granted])
        }
    }

    private static let orders: [[Report]] = [
        [.withPeriod, .withoutPeriod], [.withoutPeriod, .withPeriod], [.withPeriod, .laterWithoutPeriod],
        [.laterWithoutPeriod, .withPeriod],
        [.withPeriod, .laterWithoutPeriod, .withoutPeriod], [.withoutPeriod, .withPeriod, .laterWithoutPeriod],
        [.withoutPeriod, .withPeriod, .withPeriod], [.laterWithoutPeriod, .withPeriod, .withPeriod],
    ]

    @Test(arguments: orders, [true, false])
    private func `a charge is granted once`(reports: [Report], inOneBatch: Bool) async throws {
        try await LedgerFixture.with { ledger in
            let events = try reports.enumerated().map { try $1.event(Int64($0 + 1)) }
            for batch in inOneBatch ? [events] : events.map({ [$0] }) {
                _ = try await ledger.mergeWithEffects(batch)
            }
            #expect(try await ledger.database.lines("SELECT kind || ' ' || transaction_id FROM appstore.effects") == ["granted 1"])
        }
    }

    @Test(arguments: [[Report.withPeriod, .laterWithoutPeriod], [.withoutPeriod, .withPeriod]])
    private func `the feed tells a grant once, with the order and the user of now`(reports: [Report]) async throws {
        try await LedgerFixture.with { ledger in
            _ = try await ledger.database.lines("SELECT appstore.enable_feed()::text")
            for (index, report) in reports.enumerated() { _ = try await ledger.mergeWithEffects([report.event(Int64(index + 1))]) }
            try await ledger.link(Self.charge.contract, to: "anna", onDay: 2)
            _ = try await ledger.database.lines("SELECT told::text FROM appstore.sequence_feed()")
            #expect(
                try await ledger.database.lines(
                    """
                    SELECT concat_ws(' ', f.type, f.user_id, (f.id = e.effect_id)::text, (f.data #>> '{order,no}' = e.order_no::text)::text,
                                     f.data #>> '{transaction,transaction_id}')
                    FROM appstore.feed AS f JOIN appstore.effects AS e ON f.type LIKE 'effect.%'
                    """
                ) == ["effect.granted anna true true 1"]
            )
        }
    }

    @Test func `the digest does not depend on which fact granted the charge`() async throws {
        var digests: Set<[String]> = []
        for reports in [
            [Report.withPeriod, .withoutPeriod], [.withoutPeriod, .withPeriod], [.withoutPeriod, .withPeriod, .withPeriod],
        ] {
            try await LedgerFixture.with { ledger in
                for (index, report) in reports.enumerated() { _ = try await ledger.mergeWithEffects([report.event(Int64(index + 1))]) }
                digests.insert(try await ledger.database.lines("SELECT appstore.state_digest('Production')"))
            }
        }
        #expect(digests.count == 1)
    }
}
