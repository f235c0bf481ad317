import FoundationEssentials
import InboxTesting
import Ledger
import LedgerStore
import LedgerTesting
import Postgres
import PostgresTesting
import SQL
import UpgradeTesting

/// A database of this version that takes facts and commands, and an installation of version 2 that has taken the same and is upgraded.
final class UpgradeScene {
    let new: TestDatabase
    private(set) var events: [EventFacts] = []

    init() async throws {
        new = try await InboxDatabase.make()
    }

    /// Merges what Apple says of a charge, as an event of its own.
    ///
    /// - Parameters:
    ///   - user: who posts it, on that day.
    ///   - uuid: of the notification that reverses its refund.
    @discardableResult
    func say(_ charge: Facts.Charge, postedBy user: String? = nil, onDay day: Double = 0, reversal uuid: UUID? = nil) async throws
        -> EventFacts
    {
        let event = try Self.event(Int64(events.count + 1), charge, postedBy: user, onDay: day, reversal: uuid)
        events.append(event)
        try await Self.merge(event, into: new)
        return event
    }

    /// Merges a fact about a contract's renewal.
    func say(_ renewal: SubscriptionFact) async throws {
        let event = Facts.event(Int64(events.count + 1), subscription: renewal)
        events.append(event)
        try await Self.merge(event, into: new)
    }

    func createOrder(_ no: UUID, user: String, product: String) async throws {
        try await new.withConnection(user: "appstore_backend") { connection in
            _ = try await connection.execute("SELECT appstore.create_order(\(user), \(product), \(no))")
        }
    }

    func forget(_ user: String) async throws {
        try await Self.forget(user, in: new)
    }

    static func forget(_ user: String, in database: TestDatabase) async throws {
        try await database.withConnection(user: "appstore_operator") { _ = try await $0.execute("SELECT appstore.forget(\(user))") }
    }

    /// An installation of version 2 with all of it.
    func versionTwo() async throws -> TestDatabase {
        try await VersionTwo.make(of: new, events: events)
    }

    static func event(
        _ id: Int64,
        _ charge: Facts.Charge,
        postedBy user: String? = nil,
        onDay day: Double = 0,
        reversal uuid: UUID? = nil
    ) throws -> EventFacts {
        let fact = try charge.fact()
        func effect(_ kind: EffectKind, _ subject: String, at date: Double) -> Effect {
            Effect(
                key: EffectKey(environment: charge.environment, kind: kind, subject: subject),
                occurredAt: Facts.timestamp(Facts.day(date)),
                originalTransactionID: charge.contract,
                transactionID: charge.id,
                productID: charge.product
            )
        }
        var effects = [effect(.granted, fact.purchase, at: charge.purchaseDay)]
        if let date = charge.revocationDay {
            let (kind, name) = fact.isRefund ? (EffectKind.refunded, fact.purchase) : (.revoked, charge.id)
            effects.append(effect(kind, "\(name)/\(Facts.day(date))", at: date))
        }
        if let uuid { effects.append(effect(.refundReversed, uuid.uuidString.lowercased(), at: charge.signedDay)) }
        return Facts.event(
            id,
            uuid: uuid?.uuidString,
            transaction: fact,
            post: try user.map { try Facts.post(of: charge, by: $0, receivedAt: Facts.day(day), eventID: id) },
            refundStatement: try uuid.map {
                try Facts.refundStatement(.reversed, of: charge, uuid: $0.uuidString, signedDate: Facts.day(charge.signedDay))
            },
            effects: effects
        )
    }

    static func merge(_ event: EventFacts, into database: TestDatabase) async throws {
        let pool = try database.pool(user: "appstore_worker", connections: 1)
        _ = try await pool.withTransaction { try await LedgerMerger.merge(BatchFold([event]), in: $0) }
        await pool.close()
    }
}

extension TestDatabase {
    /// The orders: `environment transaction user status`.
    func orders() async throws -> [String] {
        try await lines(
            """
            SELECT concat_ws(' ', environment, coalesce(transaction_id, '-'), coalesce(user_id, '-'), status)
            FROM appstore.orders ORDER BY environment, transaction_id NULLS FIRST, order_no
            """
        )
    }

    /// The contracts: `contract user current-transaction`.
    func contracts() async throws -> [String] {
        try await lines(
            """
            SELECT concat_ws(' ', original_transaction_id, coalesce(regexp_replace(user_id, ':.*', ''), '-'), current_transaction_id)
            FROM appstore.contracts ORDER BY environment, original_transaction_id
            """
        )
    }

    /// What `body` adds to the feed: `type subject user`.
    func told(_ body: () async throws -> Void) async throws -> [String] {
        let position = try await lines("SELECT position::text FROM appstore.feed_head")[0]
        try await body()
        try await sequenceFeed()
        return try await lines(
            "SELECT concat_ws(' ', type, subject, user_id) FROM appstore.feed WHERE position > \(position)::bigint ORDER BY position"
        )
    }
}
