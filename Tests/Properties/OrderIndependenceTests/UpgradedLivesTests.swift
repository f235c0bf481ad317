import AppStore
import FoundationEssentials
import InboxTesting
import Ledger
import LivesTesting
import Postgres
import PostgresTesting
import Randomness
import Schema
import Testing
import UpgradeTesting

/// Random lives in an installation of version 2, which is upgraded.
struct UpgradedLivesTests {
    /// - Parameter hasNews: whether some lives have what version 2 did not read: their events run again.
    @Test(arguments: [false, true])
    func `an upgraded ledger says what a new one says of the same lives`(hasNews: Bool) async throws {
        let lives = try await PreparedLife.make(Seed.indices(Seed.lives("LIVES_UPGRADED", usually: 300)))
            .map(\.withoutFoundStatuses).filter { hasNews || !$0.hasNews }
        var generator = SeededGenerator(seed: Seed.current)
        let new = try await LedgerFixture.open()
        try await new.process(lives.steps.shuffled(using: &generator), batchesOf: 200, atOnce: 2, using: &generator)
        let database = try await VersionTwo.make(of: new.database, events: lives.flatMap(\.facts))
        let unsaid = try await database.lines(Self.refundsOfUnknownKind)
        try await database.migrate()
        let expected = try await new.lines()
        let upgraded = LedgerFixture(
            database: database,
            workers: try database.pool(user: "appstore_worker"),
            shop: try database.pool(user: "postgres"),
            isTold: true
        )
        // Registers that version 2 did not have are filled when events run.
        func isDerived(_ line: String) -> Bool {
            !["effect ", "external_purchase_token ", "app_transaction "].contains { line.hasPrefix($0) }
        }
        if !hasNews { compare(try await upgraded.lines().filter(isDerived), with: expected.filter(isDerived)) }

        let rows = (try await DerivedAgain.rows(database), try await DerivedAgain.effects(database))
        _ = try await database.withConnection { try await $0.execute(DerivedAgain.all) }
        compare(try await DerivedAgain.rows(database), with: rows.0)
        #expect(try await DerivedAgain.effects(database) == rows.1, "LIVES_SEED=\(Seed.current)")

        // All events run again, as sql/README.md advises. What version 2 told otherwise stays told: a grant of a copy; as a refund how a purchase
        // ended, where its rows no longer said so; and as a revocation what a receipt without an ownership tells as a refund.
        let again = lives.steps.filter { if case .command(.linkOwner) = $0 { false } else { true } }
        try await upgraded.process(again.shuffled(using: &generator), batchesOf: 200, atOnce: 2, using: &generator)
        let revoked = Set(try await new.database.lines(Self.revoked))
        let refunded = try await Self.effects(database, "refunded", of: unsaid.filter(revoked.contains))
        let shared = try await Self.effects(database, "revoked", of: new.database.lines(Self.refundsOfShared))
        let kept = Set((try await DerivedAgain.grantsOfCopies(database) + refunded + shared).map { "effect \($0)" })
        compare(try await upgraded.lines().filter { !kept.contains($0) }, with: expected.filter { !kept.contains($0) })
        try await upgraded.close()
        try await new.close()
    }

    /// The refunded transactions whose rows say neither who had them nor why that refund was no purchase's.
    private static let refundsOfUnknownKind: Statement = """
        SELECT t.environment || ' ' || t.transaction_id
        FROM appstore.transactions AS t
        JOIN appstore.effect_log AS e ON e.transaction_id = t.transaction_id AND e.environment = t.environment
        WHERE e.kind = 'refunded' AND coalesce(t.in_app_ownership_type, 'PURCHASED') = 'PURCHASED'
          AND (t.in_app_ownership_type IS NULL OR t.revocation_type IS NULL
               OR date_trunc('second', t.revocation_date) <> date_trunc('second', e.occurred_at))
        """

    private static let revoked: Statement = "SELECT environment || ' ' || transaction_id FROM appstore.effect_log WHERE kind = 'revoked'"

    /// The transactions that were not bought and have a refund.
    private static let refundsOfShared: Statement = """
        SELECT t.environment || ' ' || t.transaction_id
        FROM appstore.transactions AS t
        JOIN appstore.effect_log AS e ON e.transaction_id = t.transaction_id AND e.environment = t.environment
        WHERE NOT t.is_purchased AND e.kind = 'refunded'
        """

    /// The effects of a kind of some transactions.
    private static func effects(_ database: TestDatabase, _ kind: String, of transactions: [String]) async throws -> [String] {
        try await database.lines(
            """
            SELECT concat_ws(' ', e.environment, e.kind, e.subject) FROM appstore.effect_log AS e
            WHERE e.kind = \(kind) AND e.environment || ' ' || e.transaction_id = ANY (\(transactions))
            """
        )
    }

    private func compare(_ found: [String], with expected: [String]) {
        let difference = LedgerDifference.between(expected: expected, found: found, atMost: 60)
        let command = difference.lazy.compactMap(index(ofLine:)).first.map { Seed.rerunCommand("UpgradedLivesTests", index: $0) }
        #expect(difference.isEmpty, "\(command ?? "LIVES_SEED=\(Seed.current)")\n\(difference.joined(separator: "\n"))")
    }
}

extension PreparedLife {
    /// Whether an order or a fact has a token of version 5, or a fact seats, a commitment, a migration or a product of an unknown type.
    fileprivate var hasNews: Bool {
        let orders = history.commands.compactMap { if case .createOrder(let order) = $0 { UUID(uuidString: order.no) } else { nil } }
        let tokens = facts.flatMap { event in
            [event.transaction?.payload.appAccountToken] + event.allReceipts.map(\.content.appAccountToken)
        }
        return (orders + tokens.compactMap(\.self)).contains { $0.uuid.6 >> 4 == 5 }
            || facts.contains { event in
                event.transaction?.payload.isNews ?? false || event.subscription?.renewalInfo?.isNews ?? false
            }
    }
}

extension JWSTransactionDecodedPayload {
    fileprivate var isNews: Bool {
        multiSeatInfo != nil || commitmentInfo != nil || additionalTransactionReason != nil || previousOriginalTransactionId != nil
            || !(type?.isKnown ?? true)
    }
}

extension JWSRenewalInfoDecodedPayload {
    fileprivate var isNews: Bool { renewalQuantity != nil || commitmentInfo != nil }
}
