import AppStore
import FoundationEssentials
import InboxTesting
import Ledger
import LedgerTesting
import Postgres
import Testing

/// The owner of a contract, and the end of its access.
struct ContractTests {
    let first = UUID()
    let second = UUID()

    private func renewal(_ status: Status, onDay day: Double) -> SubscriptionFact {
        Facts.subscription("1000", signedDate: Facts.day(day), status: status)
    }

    @Test func `after another account buys on the same Apple ID, only later renewals are its own`() async throws {
        try await LedgerFixture.with { ledger in
            try await ledger.createOrder(first, user: "anna")
            try await ledger.createOrder(second, user: "berta")
            try await ledger.merge(Facts.Charge("1000", onDay: 0, token: first), Facts.Charge("1002", onDay: 90, token: second))
            try await ledger.merge(Facts.Charge("1003", onDay: 120, token: second))
            #expect(try await ledger.contracts() == ["1000 berta 1003 150"])
            try await ledger.merge(Facts.Charge("1001", onDay: 30, token: first))
            #expect(
                try await ledger.orders() == [
                    "1000 anna paid token", "1001 anna paid period", "1002 berta paid token", "1003 berta paid period",
                ]
            )
            #expect(try await ledger.contracts() == ["1000 berta 1003 150"])
        }
    }

    @Test func `a contract without any token has no owner until an order is known`() async throws {
        try await LedgerFixture.with { ledger in
            try await ledger.merge(Facts.Charge("1000", onDay: 0))
            #expect(try await ledger.database.lines("SELECT reason FROM appstore.unmatched") == ["no_user"])
            try await ledger.createOrder(first, user: "anna")
            try await ledger.merge(Facts.Charge("1001", onDay: 30, token: first))
            #expect(try await ledger.orders() == ["1000 anna paid period", "1001 anna paid token"])
            #expect(try await ledger.database.lines("SELECT reason FROM appstore.unmatched") == [])
        }
    }

    @Test func `the claim of a token moves to the contract of its earlier purchase`() async throws {
        try await LedgerFixture.with { ledger in
            try await ledger.createOrder(first, user: "anna")
            try await ledger.merge(Facts.Charge("2000", onDay: 9, token: first).with { $0.contract = "2000" })
            #expect(try await ledger.contracts() == ["2000 anna 2000 39"])
            try await ledger.merge(Facts.Charge("1000", onDay: 0, token: first))
            #expect(try await ledger.contracts() == ["1000 anna 1000 30", "2000 - 2000 39"])
            #expect(try await ledger.orders() == ["1000 anna paid token", "2000 - paid period"])
        }
    }

    @Test func `a refund of an earlier period keeps access, one of the current period ends it, a reversal restores it`()
        async throws
    {
        try await LedgerFixture.with { ledger in
            let current = Facts.Charge("1001", onDay: 30)
            try await ledger.merge(Facts.Charge("1000", onDay: 0), current)
            try await ledger.merge(Facts.Charge("1000", onDay: 0).with { ($0.signedDay, $0.revocationDay) = (35, 35) })
            #expect(try await ledger.contracts() == ["1000 - 1001 60"])
            try await ledger.merge(current.with { ($0.signedDay, $0.revocationDay) = (40, 40) })
            #expect(try await ledger.contracts() == ["1000 - 1001 40"])
            try await ledger.merge(current.with { $0.signedDay = 41 })
            #expect(try await ledger.contracts() == ["1000 - 1001 60"])
        }
    }

    @Test(arguments: [(Status.active, 30.0), (.expired, 10), (.billingRetry, 10), (.revoked, 10)])
    func `the renewal's status counts when it is as new as the period`(status: Status, until: Double) async throws {
        try await LedgerFixture.with { ledger in
            try await ledger.merge(Facts.Charge("1000", onDay: 0), renewals: [renewal(status, onDay: 10)])
            #expect(try await ledger.contracts() == ["1000 - 1000 \(Int(until))"])
        }
    }

    @Test func `an old expiry does not end a period that was bought after it`() async throws {
        try await LedgerFixture.with { ledger in
            try await ledger.merge(Facts.Charge("1001", onDay: 60), renewals: [renewal(.expired, onDay: 31)])
            try await ledger.merge(Facts.Charge("1000", onDay: 0))
            #expect(try await ledger.contracts() == ["1000 - 1001 90"])
        }
    }

    @Test(arguments: [true, false])
    func `an upgrade is the current period, also where its predecessor lasts longer`(upgradeFirst: Bool) async throws {
        try await LedgerFixture.with { ledger in
            let yearly = Facts.Charge("1000", onDay: 0).with { ($0.product, $0.expiresDay) = ("pro.yearly", 365) }
            let upgrade = Facts.Charge("1001", onDay: 10).with { $0.product = "max.monthly" }
            for charge in upgradeFirst ? [upgrade, yearly] : [yearly, upgrade] { try await ledger.merge(charge) }
            #expect(try await ledger.contracts() == ["1000 - 1001 40"])
            #expect(try await ledger.database.lines("SELECT product_id FROM appstore.contracts") == ["max.monthly"])
        }
    }

    @Test func `a partial refund of the current period ends it as a full one does, until it is reversed`() async throws {
        try await LedgerFixture.with { ledger in
            let charge = Facts.Charge("1000", onDay: 0)
            try await ledger.merge(charge.with { ($0.signedDay, $0.revocationDay, $0.revocationPercentage) = (5, 5, 30_000) })
            #expect(try await ledger.contracts() == ["1000 - 1000 5"])
            try await ledger.merge(charge)
            #expect(try await ledger.contracts() == ["1000 - 1000 5"])
            try await ledger.merge(charge.with { $0.signedDay = 6 })
            #expect(try await ledger.contracts() == ["1000 - 1000 30"])
        }
    }

    @Test func `Sandbox and Production contracts of the same number are independent`() async throws {
        try await LedgerFixture.with { ledger in
            let refunded = Facts.Charge("1000", onDay: 0).with { ($0.environment, $0.signedDay, $0.revocationDay) = (.sandbox, 5, 5) }
            try await ledger.createOrder(first, user: "anna")
            try await ledger.merge(Facts.Charge("1000", onDay: 0, token: first), refunded)
            #expect(try await ledger.contracts() == ["1000 anna 1000 30"])
            #expect(try await ledger.contracts("Sandbox") == ["1000 - 1000 5"])
            #expect(try await ledger.orders("Sandbox") == ["1000 - refunded period"])
        }
    }
}
