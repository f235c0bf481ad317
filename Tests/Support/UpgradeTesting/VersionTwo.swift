import AppStore
import FoundationEssentials
import InboxTesting
package import Ledger
import Postgres
package import PostgresTesting

/// Installations of version 2 of the schema.
package enum VersionTwo {
    /// What version 2 would have of the facts in a database of this version.
    ///
    /// The registers are copied: version 2 has them in the same columns, but for the numbers and dates of copies. The functions of version 2
    /// derive the rest, record the effects of the events by the keys of that time, and tell all of it in the feed.
    ///
    /// - Parameter registers: the database with the facts; what it has derived and recorded is not read.
    package static func make(of registers: TestDatabase, events: [EventFacts]) async throws -> TestDatabase {
        let database = try await ReleasedSchema.install(2)
        try await database.withConnection { connection in
            try await connection.execute("SELECT appstore.enable_feed()")
            try await registers.withConnection { source in
                for table in Table.all { try await table.copy(from: source, to: connection) }
                try await copyForgottenUsers(from: source, to: connection)
            }
            try await number(events, in: connection)
            try await connection.execute(
                """
                SELECT appstore.derive_refund_requests(r.environment, array_agg(DISTINCT r.transaction_id))
                FROM appstore.refund_requests AS r GROUP BY r.environment
                """
            )
            try await connection.execute(DerivedAgain.all)
            try await connection.execute(
                "SELECT appstore.derive_ledger('Production', '{}', '{}', array_agg(o.order_no)) FROM appstore.orders AS o WHERE o.ordered_at IS NOT NULL"
            )
            let shared = Set(events.flatMap(\.familyShared))
            for event in events where !event.effects.isEmpty { try await record(event, shared, in: connection) }
        }
        try await database.sequenceFeed()
        return database
    }

    /// Version 2 knew of forgotten users by the audit log.
    private static func copyForgottenUsers(from source: Connection, to target: Connection) async throws {
        for row in try await source.query("SELECT alias, forgotten_at FROM appstore.forgotten_users") {
            let (alias, at): (String, PostgresTimestamp) = (try row.decode("alias"), try row.decode("forgotten_at"))
            try await target.execute(
                """
                INSERT INTO appstore.audit_log (at, actor, action, event_ids, details)
                VALUES (\(at), 'tests', 'forget', '{}', jsonb_build_object('alias', \(alias)::text))
                """
            )
        }
    }

    /// Gives purchases the numbers of version 2, and copies the number and the date of their own transaction.
    private static func number(_ events: [EventFacts], in connection: Connection) async throws {
        let registers = BatchFold(events).transactions
        let copies = registers.keys.map { key in
            (
                key: key, number: OrderNumber.ofCharge(environment: key.environment, transactionID: key.id),
                date: registers[key]?.signed?.payload.purchaseDate
            )
        }
        try await connection.execute(
            """
            UPDATE appstore.transactions AS t
            SET period_no = copy.number, purchase_date = coalesce(copy.purchase_date, t.purchase_date)
            FROM unnest(\(copies.map(\.key.environment.rawValue))::text[], \(copies.map(\.key.id)), \(copies.map(\.number)),
                        \(copies.map { $0.date.map { PostgresTimestamp(millisecondsSince1970: $0.millisecondsSince1970) } }))
                AS copy (environment, transaction_id, number, purchase_date)
            WHERE t.environment::text = copy.environment AND t.transaction_id = copy.transaction_id
              AND NOT t.is_subscription AND t.product_type IS DISTINCT FROM 'Consumable' AND t.transaction_id <> t.original_transaction_id
            """
        )
        try await connection.execute(
            "UPDATE appstore.transactions SET period_no = overlay(period_no::text PLACING '5' FROM 15 FOR 1)::uuid"
        )
        // Numbers had the version of tokens that apps derive, which therefore named nothing.
        try await connection.runScript(
            """
            UPDATE appstore.transactions SET first_token = NULL, first_token_signed_date = NULL, first_token_hash = NULL
            WHERE substr(first_token::text, 15, 1) = '5';
            UPDATE appstore.transactions SET app_account_token = NULL WHERE substr(app_account_token::text, 15, 1) = '5';
            UPDATE appstore.transactions SET order_no = period_no, token_changed = false, left_token = NULL;
            """
        )
    }

    private static func record(_ event: EventFacts, _ shared: Set<LedgerKey>, in connection: Connection) async throws {
        // It did not read seats, and took each revocation but a family member's for a refund.
        let effects = event.effects.filter { $0.key.kind != .seatsRefunded }.map { effect in
            let charge = LedgerKey(environment: effect.key.environment, id: effect.transactionID ?? "")
            let key = effect.keyOfVersionTwo
            return (effect: effect, key: shared.contains(charge) ? key : key.asRefund)
        }
        try await connection.execute(
            """
            SELECT appstore.apply_facts(
                \(event.environment.rawValue)::appstore.environment, '{}', '{}', '{}', '{}', '{}', \(effects.map(\.key.id)),
                \(effects.map(\.effect.idWithoutPeriod)), \(effects.map(\.key.kind.rawValue)), \(effects.map(\.key.subject)),
                \(effects.map { _ in event.eventID }),
                \(effects.map { PostgresTimestamp(millisecondsSince1970: $0.effect.occurredAt.millisecondsSince1970) }),
                \(effects.map(\.effect.originalTransactionID)), \(effects.map(\.effect.transactionID)), \(effects.map(\.effect.productID)),
                \(effects.map(\.effect.vouchedBundleID)),
                \(effects.map { $0.effect.gracePeriodExpiresDate.map { PostgresTimestamp(millisecondsSince1970: $0.millisecondsSince1970) } }))
            """
        )
    }
}

extension EventFacts {
    /// The transactions of which it says that the user has them through another family member.
    fileprivate var familyShared: [LedgerKey] {
        let receipts = allReceipts.filter { $0.content.inAppOwnershipType == .familyShared }.map(\.key)
        guard let transaction, transaction.payload.inAppOwnershipType == .familyShared else { return receipts }
        return receipts + [transaction.key]
    }
}

extension EffectKey {
    fileprivate var asRefund: EffectKey {
        kind == .revoked ? EffectKey(environment: environment, kind: .refunded, subject: subject) : self
    }
}

extension Effect {
    /// Version 2 named the transaction in grants and refunds, not the purchase.
    fileprivate var keyOfVersionTwo: EffectKey {
        switch key.kind {
        case .granted where !key.subject.contains("/"): named(transactionID ?? key.subject)
        case .refunded: named("\(transactionID ?? "")/\(key.subject.split(separator: "/").last ?? "")")
        default: key
        }
    }

    /// Of the grant of a period the id of the same grant by a fact that does not name the period.
    fileprivate var idWithoutPeriod: UUID? {
        guard key.kind == .granted, key.subject.contains("/"), let transactionID else { return nil }
        return named(transactionID).id
    }

    private func named(_ subject: String) -> EffectKey { EffectKey(environment: key.environment, kind: key.kind, subject: subject) }
}
