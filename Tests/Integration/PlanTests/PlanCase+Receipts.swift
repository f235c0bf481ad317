import Ledger
import LedgerTesting
import Postgres

@testable import Outbox

/// Receipts, and the calls that they open.
extension PlanCase {
    static let legacy = [
        PlanCase("merge of receipts", as: "appstore_worker", of: 50, entries: 75, pages: 200) { pool, keys in
            try await merge(keys.map { try receipt(of: $0) }, in: pool)
        },
        .statement("api_submit_receipt", as: "appstore_api") {
            "SELECT appstore.api_submit_receipt(\(keyHash($0)), \(post(by: $0)))"
        },
        PlanCase("lease of calls", as: "appstore_worker", of: 10, before: due) { pool, keys in
            let leased = try await pool.withConnection { connection in
                try await connection.query(OutboxStore.lease(["verify_receipt"], in: lanes, atMost: keys.count, for: .seconds(120)))
            }
            guard leased.count == keys.count else { throw WrongCount(found: leased.count) }
        },
    ]

    /// Fewer or more calls than expected.
    struct WrongCount: Error {
        let found: Int
    }

    /// Makes ten of many waiting calls due.
    private static let due = """
        UPDATE appstore.outbox SET run_at = now() - interval '1 second', is_leased = false
        WHERE call_id = ANY (ARRAY(SELECT call_id FROM appstore.outbox WHERE state = 'open' ORDER BY call_id LIMIT 10));
        """

    /// A client post of a known contract's charge and a later one, also as if Apple's answer brought it, with a renewal and a call to Apple.
    private static func receipt(of customer: Int) throws -> EventFacts {
        let contract = "\(customer)"
        let known = Facts.Charge(contract, onDay: 1).with { $0.contract = contract }
        let later = Facts.Charge("\(70_000_000 + customer)", onDay: 61).with { $0.contract = contract }
        let eventID = Int64(customer)
        var event = Facts.receiptEvent(
            eventID,
            receipts: [known, later].map { $0.receipt(.signedReceipt, onDay: 62) },
            renewals: [try Facts.legacyRenewal(contract, onDay: 62)],
            posts: [Facts.receiptPost(contract, by: "another user \(customer)", naming: later.id, onDay: 62, eventID: eventID)],
            calls: [OutboundCall(kind: "verify_receipt", key: "asked \(customer)", bundleID: "b", eventID: eventID)]
        )
        event.awaitedReceipts = [later.receipt(.signedReceipt, onDay: 62)]
        return event
    }
}
