import Foundation
import InboxTesting
import Postgres
import PostgresTesting
import Testing

/// Views that operators query often read about as many rows as they show, however many are settled.
struct OperatorViewReadTests {
    /// States of the planner's statistics.
    enum Statistics: CaseIterable, Sendable {
        /// When there was a tenth of the rows.
        case early
        case late
    }

    private static let customers = 5000

    @Test(arguments: Statistics.allCases)
    func `unmatched reads few rows where many posts are settled`(statistics: Statistics) async throws {
        try await TestLedger.with { ledger in
            try await ledger.fill(statistics, Self.customers) { customers in
                try await ledger.fill(customers)
                try await ledger.fillPosts(customers)
            }
            let token = UUID()
            try await ledger.makeOrder(token, user: "anna")
            try await ledger.put(Charge("1000", onDay: 0, token: token), Charge("2000", onDay: 0).with { $0.contract = "2000" })
            try await ledger.submit("1000", by: "bert", onDay: 31)
            try await ledger.expectFewReads("SELECT * FROM appstore.unmatched", rows: 2, as: "appstore_viewer")
        }
    }

    @Test(arguments: Statistics.allCases)
    func `consumption_requests reads few rows where many requests are answered or decided`(statistics: Statistics) async throws {
        try await TestLedger.with { ledger in
            try await ledger.fill(statistics, Self.customers) { try await ledger.fillRefundRequests($0) }
            try await ledger.say("asked", onDay: 36_000)
            try await ledger.expectFewReads(
                "SELECT * FROM appstore.consumption_requests WHERE due_at > now() AND outcome IS NULL ORDER BY due_at",
                rows: 1,
                as: "appstore_backend"
            )
        }
    }
}

extension TestLedger {
    /// Inserts derived subscriptions of these users.
    fileprivate func fill(_ customers: ClosedRange<Int>) async throws {
        for statement: Statement in [
            """
            INSERT INTO appstore.transactions (environment, transaction_id, original_transaction_id, bundle_id, product_id, product_type,
                purchase_date, expires_date, in_app_ownership_type, signed_date, payload_hash, first_signed_date, period_no, is_subscription)
            SELECT 'Production', (100000 + n)::text, (100000 + n)::text, 'com.example.app', 'pro.monthly', 'Auto-Renewable Subscription',
                   now(), now() + interval '30 days', 'PURCHASED', now(), '\\x01', now(), gen_random_uuid(), true
            FROM generate_series(\(customers.lowerBound), \(customers.upperBound)) AS n
            """,
            """
            INSERT INTO appstore.contracts (environment, original_transaction_id, user_id, bundle_id, product_id, product_type, status, will_renew,
                current_transaction_id, current_period_start, current_period_end, access_until, renewal_status, auto_renew_status,
                renewal_signed_date, renewal_hash)
            SELECT 'Production', (100000 + n)::text, 'user-' || n, 'com.example.app', 'pro.monthly', 'Auto-Renewable Subscription', 1, true,
                   (100000 + n)::text, now(), now() + interval '30 days', now() + interval '30 days', 1, 1, now(), '\\x01'
            FROM generate_series(\(customers.lowerBound), \(customers.upperBound)) AS n
            """,
        ] {
            try await run(statement)
        }
    }

    fileprivate func fill(
        _ statistics: OperatorViewReadTests.Statistics,
        _ customers: Int,
        _ body: (ClosedRange<Int>) async throws -> Void
    ) async throws {
        try await body(1...customers / 10)
        if statistics == .early { try await run("ANALYZE") }
        try await body(customers / 10 + 1...customers)
        if statistics == .late { try await run("ANALYZE") }
    }

    /// Each user of a contract has posted its transaction and a receipt, and its order is paid.
    fileprivate func fillPosts(_ customers: ClosedRange<Int>) async throws {
        try await run(
            """
            INSERT INTO appstore.client_posts (environment, original_transaction_id, user_id, is_receipt, transaction_id, received_at, event_id)
            SELECT 'Production', (100000 + n)::text, 'user-' || n, post.is_receipt, post.transaction_id, now(), n
            FROM generate_series(\(customers.lowerBound), \(customers.upperBound)) AS n,
                 LATERAL (VALUES (false, (100000 + n)::text), (true, NULL)) AS post (is_receipt, transaction_id)
            """
        )
    }

    /// A request for each transaction, which the shop has answered or Apple has decided.
    fileprivate func fillRefundRequests(_ customers: ClosedRange<Int>) async throws {
        try await run(
            """
            INSERT INTO appstore.consumption_decisions (environment, transaction_id, decided_at, decided_by, origin, result, settled_at)
            SELECT 'Production', (100000 + n)::text, now(), 'shop', 'elsewhere', 'answered', now()
            FROM generate_series(\(customers.lowerBound), \(customers.upperBound)) AS n
            """
        )
        try await run(
            """
            INSERT INTO appstore.refund_requests
                (environment, notification_uuid, kind, transaction_id, original_transaction_id, signed_date)
            SELECT 'Production', gen_random_uuid(), kind, (100000 + n)::text, (100000 + n)::text,
                   now() - interval '1 day' + hours * interval '1 hour'
            FROM generate_series(\(customers.lowerBound), \(customers.upperBound)) AS n,
                 (VALUES ('asked', 0), ('declined', 1)) AS kinds (kind, hours)
            WHERE kind = 'asked' OR n % 2 = 0
            """
        )
        try await run(
            """
            SELECT appstore.derive_refund_requests('Production', array_agg((100000 + n)::text))
            FROM generate_series(\(customers.lowerBound), \(customers.upperBound)) AS n GROUP BY n / 100
            """
        )
    }

    /// Expects this many rows, without a full scan and with few index entries read of each table.
    fileprivate func expectFewReads(_ statement: Statement, rows: Int, as role: String) async throws {
        try await database.awaitReports()
        let reads = try await database.reads(by: "view") {
            var options = try ConnectionOptions(database.url(user: role))
            options.applicationName = "view"
            let connection = try await Connection.open(options, logger: .silent)
            let found = try await connection.query(statement)
            #expect(found.count == rows)
            await connection.close()
        }
        #expect(!reads.isEmpty)
        for (table, reads) in reads {
            #expect(reads.entries <= 100, "\(reads.entries) entries of \(table)")
            #expect(reads.pages <= 200, "\(reads.pages) pages of \(table)")
        }
    }
}
