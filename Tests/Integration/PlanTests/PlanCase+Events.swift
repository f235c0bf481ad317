import AppStore
import InboxQueue
import Ledger
import LedgerStore
import LedgerTesting
import Postgres
import PostgresTesting
import StrictJSON
import Testing

/// The path of an event: received, claimed, merged, settled.
extension PlanCase {
    static let receiving = [
        PlanCase("receive", as: "appstore_ingest", of: 50) { pool, keys in
            let bodies = keys.map { Array("body \($0)".utf8) }
            try await pool.withConnection { _ = try await $0.query("SELECT appstore.receive(\(bodies))") }
        },
        .statement("api_submit_transaction", as: "appstore_api") {
            "SELECT appstore.api_submit_transaction(\(keyHash($0)), \(post(by: $0)))"
        },
    ]

    /// The body of a client post.
    static func post(by customer: Int) -> [UInt8] {
        Array(#"{"environment":"Production","bundleIds":null,"user":"user \#(customer)"}"#.utf8)
    }

    /// Whole batches, of which a third fails and waits again; and a lost batch, whose events run one to a batch.
    static let settling = [
        PlanCase("batch", as: "appstore_worker", of: 60) { pool, keys in
            _ = try await queue(pool, batchEvents: keys.count).takeBatch()
        },
        PlanCase("lost batch", as: "appstore_worker", of: 60, before: lostBatch) { pool, _ in
            let queue = queue(pool, batchEvents: 60)
            let recovery = try await queue.recoverLostBatches(isFirst: true)
            #expect(recovery.isolated == 60)
            let isolated = try await queue.takeIsolated()
            #expect(isolated != nil)
        },
        PlanCase("look for lost batches when there are none", as: "appstore_worker", entries: 200, before: noLostBatch) { pool, _ in
            let recovery = try await queue(pool, batchEvents: 1).recoverLostBatches()
            #expect(recovery.lost == 0)
        },
    ]

    private static func queue(_ pool: ConnectionPool, batchEvents: Int) -> EventQueue<ClaimedEvent> {
        var configuration = EventQueue<ClaimedEvent>.Configuration()
        configuration.batchEvents = batchEvents
        return EventQueue<ClaimedEvent>(
            pool: pool,
            configuration: configuration,
            logger: .silent,
            prepare: { $0 },
            merge: { events, _ in
                events.enumerated().map { index, _ in
                    index % 3 == 0 && events.count > 1
                        ? .retry(reason: "by_test", error: "by test", labels: OutcomeLabels()) : .outcome(Outcome(.applied))
                }
            }
        )
    }

    /// Sixty new events in a batch whose process has died.
    private static let lostBatch = """
        WITH stored AS (
            INSERT INTO appstore.inbox (source, received_at, body)
            SELECT 'notification_v2', now(), '\\x01' FROM generate_series(1, 60) RETURNING *
        ), ready AS (
            INSERT INTO appstore.inbox_queue (event_id, run_at, bytes) SELECT event_id, received_at, 1 FROM stored RETURNING event_id
        )
        INSERT INTO appstore.batch_markers (lane, event_ids, is_alone, marked_at)
        SELECT -min(event_id), array_agg(event_id), false, clock_timestamp() FROM ready;
        """

    private static let noLostBatch = """
        DELETE FROM appstore.batch_markers;
        UPDATE appstore.inbox_queue SET is_isolated = false WHERE is_isolated;
        """

    static let merging = [
        PlanCase("merge of renewals", as: "appstore_worker", of: 50, entries: 40, pages: 120) { pool, keys in
            try await merge(keys.map { try renewal(of: $0) }, in: pool)
        },
        PlanCase("merge of purchases", as: "appstore_worker", of: 50, entries: 40, pages: 120) { pool, keys in
            try await merge(keys.map { try purchase(of: $0) }, in: pool)
        },
        PlanCase("merge of app transactions and tokens", as: "appstore_worker", of: 50, entries: 40, pages: 120) { pool, keys in
            try await merge(keys.map(statements), in: pool)
        },
        PlanCase("merge of refunds and posts", as: "appstore_worker", of: 50, entries: 60, pages: 160) { pool, keys in
            try await merge(keys.map { try refund(of: $0) }, in: pool)
        },
    ]

    static func merge(_ events: [EventFacts], in pool: ConnectionPool) async throws {
        _ = try await pool.withTransaction { try await LedgerMerger.merge(BatchFold(events), in: $0) }
    }

    /// A later period of a known contract.
    static func renewal(of customer: Int, period: Int = 1) throws -> EventFacts {
        let charge = Facts.Charge("\(period * 10_000_000 + customer)", onDay: Double(period) * 30).with { $0.contract = "\(customer)" }
        return try event(customer, charge, .granted)
    }

    /// The first period of a new contract, which names a known order.
    private static func purchase(of customer: Int) throws -> EventFacts {
        try event(
            customer,
            Facts.Charge("\(8_000_000 + customer)", onDay: 31, token: PlanScene.token(customer)).with {
                $0.contract = $0.id
            },
            .granted
        )
    }

    /// A refund of a known contract's charge, about which Apple has asked and which a client has posted.
    private static func refund(of customer: Int) throws -> EventFacts {
        let charge = Facts.Charge("\(customer)", onDay: 1).with {
            $0.contract = "\(customer)"
            ($0.signedDay, $0.revocationDay) = (2, 2)
        }
        var event = try event(customer, charge, .refunded)
        event.posts = [try Facts.post(of: charge, by: "another user \(customer)", receivedAt: Facts.day(2), eventID: Int64(customer))]
        event.refundStatement = try Facts.refundStatement(.asked, of: charge, uuid: "ask \(customer)", signedDate: Facts.day(2))
        return event
    }

    /// Newer statements about a known download and a known token.
    private static func statements(of customer: Int) -> EventFacts {
        var event = Facts.event(Int64(customer), uuid: "statements \(customer)")
        let version = Version(signedDate: Facts.timestamp(Facts.day(40)), hash: [7])
        event.appTransaction = AppTransactionFact(
            key: LedgerKey(environment: .production, id: "app \(customer)"),
            version: version,
            bundleID: "b",
            app: AppTransaction(decoding: ["applicationVersion": "331"])
        )
        event.appTransaction?.post = AppTransactionFact.Post(user: "another user \(customer)", receivedAt: Facts.timestamp(Facts.day(40)))
        event.externalPurchaseToken = ExternalPurchaseTokenFact(
            key: LedgerKey(environment: .production, id: "token \(customer)"),
            version: version,
            bundleID: "b",
            token: ExternalPurchaseToken(decoding: [:]),
            subtype: .unreported
        )
        return event
    }

    private static func event(_ customer: Int, _ charge: Facts.Charge, _ kind: EffectKind) throws -> EventFacts {
        let effect = Effect(
            key: EffectKey(environment: .production, kind: kind, subject: "\(charge.contract)/\(charge.id)"),
            occurredAt: Facts.timestamp(Facts.day(charge.purchaseDay)),
            originalTransactionID: charge.contract,
            transactionID: charge.id,
            productID: charge.product
        )
        return Facts.event(
            Int64(customer),
            uuid: "\(kind.rawValue) \(charge.id)",
            transaction: try charge.fact(),
            subscription: Facts.subscription(charge.contract, signedDate: Facts.day(charge.signedDay), status: .active),
            effects: [effect]
        )
    }
}
