import InboxTesting
import Ledger
import LedgerTesting
import Postgres
import Testing

/// The derivation gives the same result in every session.
struct TimeZoneTests {
    /// Grace that ends within thirty days of 24 hours after the period, but not within thirty calendar days across a clock change.
    private static let (periodEnd, graceEnd) = (73.0, 102.98)

    @Test func `access in a grace period does not depend on the session's time zone`() async throws {
        try await LedgerFixture.with { ledger in
            let charge = Facts.Charge("1000", onDay: Self.periodEnd - 30)
            try await ledger.merge([Facts.receiptEvent(1, receipts: [charge.receipt(.signedReceipt, onDay: Self.periodEnd - 29)])])
            let grace = try Facts.legacyRenewal("1000", onDay: Self.periodEnd + 1, isInBillingRetry: true, graceUntilDay: Self.graceEnd)
            try await ledger.merge([Facts.receiptEvent(2, renewals: [grace])])
            #expect(try await ledger.contracts() == ["1000 - 1000 \(Self.graceEnd)"])
            let state = try await ledger.state()
            for zone in ["Europe/Berlin", "America/New_York", "UTC", "Pacific/Apia"] {
                try await ledger.database.withConnection { connection in
                    _ = try await connection.query("SELECT set_config('timezone', \(zone), false)")
                    _ = try await connection.query("SELECT appstore.derive_ledger('Production', ARRAY['1000'], ARRAY['1000'])")
                }
                #expect(try await ledger.contracts() == ["1000 - 1000 \(Self.graceEnd)"], "\(zone)")
                #expect(try await ledger.state() == state, "\(zone)")
            }
        }
    }
}
