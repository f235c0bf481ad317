import AppStore
import Foundation
import InboxTesting
import Ledger
import LedgerStore
import LedgerTesting
import Postgres
import PostgresTesting

/// Purchases in the ledger, merged as a worker does. Contract 1 is of user 1, who ordered it.
enum FeedLedger {
    /// Yesterday, in days after 2026-01-01.
    private static let yesterday = (Date.now.timeIntervalSince1970 - 1_767_225_600) / 86_400 - 1

    static func order(_ contracts: ClosedRange<Int>, in database: TestDatabase) async throws {
        for contract in contracts {
            try await FeedScene.run(
                "SELECT appstore.create_order(\("user \(contract)"), 'pro.monthly', \(token(contract)))",
                as: "appstore_backend",
                in: database
            )
        }
    }

    /// Merges events that no merge has seen, each as a notification of its own.
    static func merge(_ events: EventFacts..., in database: TestDatabase) async throws {
        try await database.withConnection(user: "appstore_worker") { connection in
            _ = try await connection.withTransaction { try await LedgerMerger.merge(BatchFold(events), in: $0) }
        }
    }

    /// The notification of a purchase.
    static func purchase(_ contract: Int) throws -> EventFacts {
        try event(charge(contract), .granted, subject: "\(contract)/5\(contract)")
    }

    /// The notification of its refund.
    static func refund(_ contract: Int) throws -> EventFacts {
        let refunded = charge(contract).with { ($0.revocationDay, $0.signedDay) = (yesterday + 0.5, yesterday + 0.5) }
        return try event(refunded, .refunded, subject: refunded.id)
    }

    private static func charge(_ contract: Int) -> Facts.Charge {
        Facts.Charge("\(contract)", onDay: yesterday, token: token(contract)).with { $0.contract = "\(contract)" }
    }

    private static func event(_ charge: Facts.Charge, _ kind: EffectKind, subject: String) throws -> EventFacts {
        let effect = Effect(
            key: EffectKey(environment: .production, kind: kind, subject: subject),
            occurredAt: Facts.timestamp(Facts.day(charge.signedDay)),
            originalTransactionID: charge.contract,
            transactionID: charge.id,
            productID: charge.product
        )
        return Facts.event(
            .random(in: 1...(.max)),
            uuid: "\(charge.id) \(kind.rawValue)",
            transaction: try charge.fact(),
            subscription: Facts.subscription(charge.contract, signedDate: Facts.day(charge.signedDay), status: .active),
            effects: [effect]
        )
    }

    private static func token(_ contract: Int) -> UUID {
        UUID(uuid: (0, 0, 0, 0, 0, 0, 0x40, 0, 0x80, 0, 0, 0, 0, 0, 0, UInt8(contract)))
    }
}
