import InboxTesting
import Ledger
import LedgerTesting
import Postgres

extension LedgerFixture {
    /// A post of the charge by `user`, `day` days after 2026-01-01, with the charge's fact.
    func posted(_ charge: Facts.Charge, by user: String, onDay day: Double, eventID: Int64) throws -> EventFacts {
        Facts.event(
            eventID,
            transaction: try charge.fact(),
            post: try Facts.post(of: charge, by: user, receivedAt: Facts.day(day), eventID: eventID)
        )
    }

    /// Merges a post as a batch of its own. Returns why the charge does not belong to the user, or nil.
    @discardableResult
    func submit(_ charge: Facts.Charge, by user: String, onDay day: Double, eventID: Int64 = 1) async throws -> OwnershipDoubt? {
        let event = try posted(charge, by: user, onDay: day, eventID: eventID)
        return BatchFold([event]).ownershipDoubt(of: event, after: try await merge([event]))
    }

    /// A receipt and its post by a user, `day` days after 2026-01-01, with the purchase just made.
    func receipt(
        _ receipts: [ReceiptFact],
        postedBy user: String?,
        naming named: String? = nil,
        onDay day: Double,
        eventID: Int64
    ) -> EventFacts {
        let contracts = Dictionary(grouping: receipts, by: \.originalTransactionID)
        let posts = user.map { user in
            contracts.map { contract, charges in
                let ownNamed = named.flatMap { named in charges.contains { $0.key.id == named } ? named : nil }
                return Facts.receiptPost(contract, by: user, naming: ownNamed, onDay: day, eventID: eventID)
            }
        }
        return Facts.receiptEvent(eventID, receipts: receipts, posts: posts ?? [])
    }

    /// Merges an event as a batch of its own. Returns why the charge that it names does not belong to the user, or nil.
    @discardableResult
    func post(_ event: EventFacts) async throws -> OwnershipDoubt? {
        BatchFold([event]).ownershipDoubt(of: event, after: try await merge([event]))
    }

    /// An operator's command at that day.
    func link(_ contract: String, to user: String, onDay day: Double, environment: String = "Production") async throws {
        let linkedAt = PostgresTimestamp(millisecondsSince1970: Facts.day(day))
        try await database.withConnection { connection in
            _ = try await connection.execute(
                "SELECT appstore.record_owner_link(\(environment)::appstore.environment, \(contract), \(user), \(linkedAt), 'operator', NULL)"
            )
        }
    }

    /// Claims: `contract kind user day`, oldest first.
    func claims(_ environment: String = "Production") async throws -> [String] {
        try await database.lines(
            """
            SELECT concat_ws(' ', original_transaction_id, kind, user_id,
                             round(extract(epoch FROM effective_at - '2026-01-01 00:00+00') / 86400, 2)::float8)
            FROM appstore.ownership_claims WHERE environment = \(environment)::appstore.environment
            ORDER BY original_transaction_id, effective_at, kind, source_id
            """
        )
    }
}
