import Foundation
import InboxTesting
import Postgres
import Testing

/// The numbers that an order may have.
struct OrderNumberTests {
    /// A number like that of a paid period.
    private static let versionEight = UUID(
        uuid: (0xb2, 0x09, 0x1d, 0x33, 0xa1, 0x0c, 0x8e, 0x41, 0x9c, 0x3a, 0x10, 0x2f, 0x55, 0x6d, 0x07, 0x81)
    )

    @Test func `create_order refuses a version 8 UUID, which would block the merge of a purchase`() async throws {
        try await TestLedger.with { ledger in
            let key = try await ledger.database.makeAPIKey()
            for (role, statement) in [
                ("appstore_backend", "SELECT appstore.create_order('anna', 'pro.monthly', \(Self.versionEight))"),
                ("appstore_api", "SELECT appstore.api_create_order(\(key), 'anna', 'pro.monthly', \(Self.versionEight), NULL)"),
            ] as [(String, Statement)] {
                let error = await #expect(throws: PostgresError.self) { try await ledger.run(statement, as: role) }
                #expect(error?.sqlState?.rawValue == "22023")
                #expect(error?.message.hasSuffix("is a version 8 UUID, as orders of renewals have") == true)
            }
            #expect(try await ledger.lines("SELECT order_no::text FROM appstore.orders") == [])
            try await ledger.run(Charge("1000", onDay: 0).statement)
            try await ledger.run("UPDATE appstore.transactions SET period_no = \(Self.versionEight)")
            try await ledger.run("SELECT appstore.derive_ledger('Production', ARRAY['1000'], '{}')")
            #expect(
                try await ledger.lines("SELECT order_no || ' ' || status FROM appstore.orders") == [
                    Self.versionEight.uuidString.lowercased() + " paid"
                ]
            )
        }
    }
}
