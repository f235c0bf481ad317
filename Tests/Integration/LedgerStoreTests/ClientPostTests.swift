import FoundationEssentials
import InboxTesting
import Ledger
import LedgerTesting
import Postgres
import Testing

struct ClientPostTests {
    private func recorded(_ ledger: LedgerFixture) async throws -> [String] {
        try await ledger.database.lines(
            """
            SELECT concat_ws(' ', transaction_id, user_id, original_transaction_id, event_id, extract(epoch FROM received_at)::bigint)
            FROM appstore.client_posts ORDER BY environment, transaction_id, user_id
            """
        )
    }

    @Test(arguments: [[0, 1, 2], [2, 1, 0], [1, 2, 0]])
    func `the first post of each user is kept, in any order of processing`(order: [Int]) async throws {
        try await LedgerFixture.with { ledger in
            let charge = Facts.Charge("1001", onDay: 0)
            let posts = [(1.0, 12 as Int64), (1, 11), (2, 10)]
            for (day, eventID) in order.map({ posts[$0] }) {
                try await ledger.submit(charge, by: "anna", onDay: day, eventID: eventID)
            }
            try await ledger.submit(charge, by: "berta", onDay: 9, eventID: 13)
            let start = Facts.start / 1000
            #expect(try await recorded(ledger) == ["1001 anna 1000 11 \(start + 86_400)", "1001 berta 1000 13 \(start + 9 * 86_400)"])
        }
    }

    @Test func `posts of a receipt are one for each named purchase, and one without`()
        async throws
    {
        try await LedgerFixture.with { ledger in
            let receipts = [Facts.Charge("1000", onDay: 0).receipt(.inApp, onDay: 5)]
            for (named, day, eventID) in [(nil, 6.0, 12), (nil, 5, 11), (nil, 7, 13), ("1000", 8, 14)] as [(String?, Double, Int64)] {
                try await ledger.post(ledger.receipt(receipts, postedBy: "anna", naming: named, onDay: day, eventID: eventID))
            }
            let posts = try await ledger.database.lines(
                "SELECT concat_ws(' ', event_id, transaction_id) FROM appstore.client_posts ORDER BY event_id"
            )
            #expect(posts == ["11", "14 1000"])
        }
    }

    @Test func `a post and an order for the same contract that commit at the same instant see each other`() async throws {
        for _ in 0..<10 {
            try await LedgerFixture.with { ledger in
                let (token, charge) = (UUID(), Facts.Charge("1001", onDay: 30))
                try await ledger.merge(Facts.Charge("1000", onDay: 0, token: token))
                let post = try ledger.posted(charge, by: "berta", onDay: 30, eventID: 1)
                async let posted: MergeResult = ledger.merge([post])
                async let ordered: Void = ledger.createOrder(token, user: "anna")
                _ = try await (posted, ordered)
                #expect(try await ledger.claims() == ["1000 order anna 0"])
                #expect(try await ledger.orders() == ["1000 anna paid token", "1001 anna paid period"])
            }
        }
    }
}
