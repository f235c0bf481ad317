import AppStore
import InboxTesting
import Ledger
import LedgerTesting
import Postgres
import Testing

struct RefundRequestTests {
    private func statements(_ ledger: LedgerFixture) async throws -> [String] {
        try await ledger.database.lines(
            """
            SELECT concat_ws(' ', environment, kind, transaction_id, original_transaction_id, coalesce(reason, '-'),
                             extract(epoch FROM signed_date)::bigint)
            FROM appstore.refund_requests ORDER BY environment, signed_date
            """
        )
    }

    @Test(arguments: [[1, 2, 0], [0, 1, 2], [2, 1, 0]])
    func `the copy of a request that was signed first is kept, in any order of arrival`(order: [Int]) async throws {
        try await LedgerFixture.with { ledger in
            let charge = Facts.Charge("1001", onDay: 0)
            let copies = try [(7, "b"), (5, "z"), (5, nil)].map { signedDate, reason in
                try Facts.refundStatement(.asked, of: charge, uuid: "u", reason: reason, signedDate: signedDate * 1000)
            }
            for (event, copy) in order.enumerated() {
                try await ledger.merge([Facts.event(Int64(event + 1), uuid: "u", refundStatement: copies[copy])])
            }
            #expect(try await statements(ledger) == ["Production asked 1001 1000 - 5"])
        }
    }

    @Test(arguments: [[0, 1], [1, 0], [0, 1, 0], [1, 0, 1]])
    func `a copy with another transaction leaves no open request about it, in any order of arrival`(order: [Int]) async throws {
        try await LedgerFixture.with { ledger in
            let copies = try [("1001", 7), ("1002", 5)].map { charge, signedDate in
                try Facts.refundStatement(.asked, of: Facts.Charge(charge, onDay: 0), uuid: "u", signedDate: signedDate * 1000)
            }
            for (event, copy) in order.enumerated() {
                try await ledger.merge([Facts.event(Int64(event + 1), uuid: "u", refundStatement: copies[copy])])
            }
            let openRequests = try await ledger.database.lines(
                "SELECT concat_ws(' ', transaction_id, asked_at IS NOT NULL) FROM appstore.consumption_obligations"
            )
            #expect(openRequests == ["1002 t"])
        }
    }

    @Test func `each notification has its own request, in its environment`() async throws {
        try await LedgerFixture.with { ledger in
            let (charge, sandbox) = (Facts.Charge("1001", onDay: 0), Facts.Charge("1001", onDay: 0).with { $0.environment = .sandbox })
            let events = try [
                Facts.event(
                    1,
                    uuid: "a",
                    refundStatement: Facts.refundStatement(.asked, of: charge, uuid: "a", reason: "OTHER", signedDate: 5000)
                ),
                Facts.event(2, uuid: "b", refundStatement: Facts.refundStatement(.declined, of: charge, uuid: "b", signedDate: 6000)),
                Facts.event(3, uuid: "a", refundStatement: Facts.refundStatement(.refunded, of: sandbox, uuid: "a", signedDate: 7000)),
            ]
            try await ledger.merge(events)
            #expect(
                try await statements(ledger) == [
                    "Production asked 1001 1000 OTHER 5", "Production declined 1001 1000 - 6", "Sandbox refunded 1001 1000 - 7",
                ]
            )
        }
    }
}
