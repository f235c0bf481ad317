import Postgres
import Testing

/// Two apps whose products have the same id.
struct EntitlementsOfAppsTests {
    private func entitlements(_ ledger: TestLedger) async throws -> [String] {
        try await ledger.lines(
            """
            SELECT concat_ws(' ', bundle_id, product_id, entitlement, original_transaction_id)
            FROM appstore.entitlements_at(\(timestamp(2))) WHERE active ORDER BY bundle_id
            """
        )
    }

    @Test func `a product gives the entitlements of its own app's row, not of another app's`() async throws {
        try await TestLedger.with { ledger in
            try await ledger.put(Charge("1000", onDay: 0))
            try await ledger.put(Charge("2000", onDay: 0).with { ($0.contract, $0.bundle) = ("2000", "com.example.other") })
            for contract in ["1000", "2000"] { try await ledger.link(contract, to: "anna", onDay: 1) }
            try await ledger.run("INSERT INTO appstore.products VALUES ('com.example.app', 'pro.monthly', 'everything', NULL)")
            #expect(
                try await entitlements(ledger) == [
                    "com.example.app pro.monthly everything 1000", "com.example.other pro.monthly pro.monthly 2000",
                ]
            )
            try await ledger.run("INSERT INTO appstore.products VALUES ('com.example.other', 'pro.monthly', 'little', NULL)")
            #expect(
                try await entitlements(ledger) == [
                    "com.example.app pro.monthly everything 1000", "com.example.other pro.monthly little 2000",
                ]
            )
        }
    }

    @Test func `the days of a product apply to its own app`() async throws {
        try await TestLedger.with { ledger in
            let season = Charge("season", "Non-Renewing Subscription", "3000", onDay: 0)
            try await ledger.put(season, season.with { ($0.id, $0.contract, $0.bundle) = ("4000", "4000", "com.example.other") })
            for contract in ["3000", "4000"] { try await ledger.link(contract, to: "anna", onDay: 1) }
            try await ledger.run("INSERT INTO appstore.products VALUES ('com.example.app', 'season', 'stadium', 90)")
            #expect(try await entitlements(ledger) == ["com.example.app season stadium 3000"])
        }
    }
}
