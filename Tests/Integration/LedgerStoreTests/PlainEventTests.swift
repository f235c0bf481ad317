import AppStore
import FoundationEssentials
import Ledger
import LedgerTesting
import Testing

/// A single event whose contract has no other rows to derive is plain: one statement derives it (`appstore.apply_facts`).
/// The general rules (`appstore.derive_ledger`) derive events in one batch, and must give the same result.
struct PlainEventTests {
    /// A history with an event that looks plain, but is not.
    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        var commands: @Sendable (LedgerFixture) async throws -> Void = { _ in }
        let events: @Sendable () throws -> [EventFacts]

        init(
            _ name: String,
            after commands: @escaping @Sendable (LedgerFixture) async throws -> Void = { _ in },
            events: @escaping @Sendable () throws -> [EventFacts]
        ) {
            testDescription = name
            self.commands = commands
            self.events = events
        }
    }

    private static let token = UUID()
    private static let otherToken = UUID()
    private static let purchase = Facts.Charge("1000", onDay: 0)
    private static let renewal = Facts.Charge("1001", onDay: 30)

    /// A charge and the renewal of its contract, by default signed on the same day.
    private static func event(_ charge: Facts.Charge, _ status: Status = .active, signedDay: Double? = nil) throws -> EventFacts {
        let subscription = Facts.subscription(charge.contract, signedDate: Facts.day(signedDay ?? charge.signedDay), status: status)
        return Facts.event(Int64.random(in: 1...(.max)), transaction: try charge.fact(), subscription: subscription)
    }

    private static func ordered(_ ledger: LedgerFixture) async throws {
        try await ledger.createOrder(token, user: "anna")
    }

    static let cases = [
        Case("a renewal, and nothing else") { [try event(purchase), try event(renewal)] },
        Case(
            "a renewal with the user's token of the purchase, and one with another user's",
            after: { ledger in
                try await ledger.setToken(token, of: "anna")
                try await ledger.setToken(otherToken, of: "berta")
            }
        ) {
            let tokens = [token, token, otherToken, otherToken, token]
            return try tokens.enumerated().map { index, token in
                try event(Facts.Charge("\(1000 + index)", onDay: Double(30 * index), token: token))
            }
        },
        Case(
            "a renewal with the order's token that arrives after the next one, between renewals with a user's",
            after: { ledger in
                try await ordered(ledger)
                try await ledger.setToken(otherToken, of: "berta")
            }
        ) {
            try [(0, token), (1, otherToken), (3, otherToken), (2, token)].map { month, token in
                try event(Facts.Charge("\(1000 + month)", onDay: Double(30 * month), token: token))
            }
        },
        Case("a renewal that arrives after the next one, and the first purchase after both") {
            try [1, 3, 2, 0].map { try event(Facts.Charge("\(1000 + $0)", onDay: Double(30 * $0))) }
        },
        Case(
            "a renewal with a user's token after a link",
            after: { ledger in
                try await ledger.setToken(token, of: "anna")
                try await ledger.link("1000", to: "berta", onDay: 10)
            }
        ) { [try event(purchase.with { $0.token = token }), try event(renewal.with { $0.token = token })] },
        Case("an earlier period that comes late") {
            [try event(purchase), try event(Facts.Charge("1002", onDay: 60)), try event(renewal)]
        },
        Case("a register of Notifications V1 that is newer than the renewal's") {
            let v1 = Facts.receiptEvent(2, renewals: [try Facts.legacyRenewal("1000", onDay: 70, willRenew: false)])
            return [try event(purchase), v1, try event(renewal)]
        },
        Case(
            "a link that is younger than the period",
            after: { ledger in
                try await ordered(ledger)
                try await ledger.link("1000", to: "berta", onDay: 50)
            }
        ) { [try event(purchase.with { $0.token = token }), try event(renewal)] },
        Case("a refund of an earlier period that is taken back") {
            let refunded = purchase.with { ($0.signedDay, $0.revocationDay) = (40, 40) }
            return [try event(purchase), try event(renewal), try event(refunded), try event(purchase.with { $0.signedDay = 41 })]
        },
        Case("an earlier period beside a current one that is refunded") {
            let refunded = renewal.with { ($0.signedDay, $0.revocationDay) = (40, 40) }
            let events = [try event(purchase), try event(renewal), try event(refunded, signedDay: 30)]
            return events + [try event(purchase.with { $0.signedDay = 45 }, signedDay: 30)]
        },
        Case("a renewal in another app") { [try event(purchase), try event(renewal.with { $0.bundle = "com.example.other" })] },
        Case("a second charge of a period that a token has paid", after: ordered) {
            let first = purchase.with { ($0.token, $0.lineItem) = (token, "5") }
            return [try event(first), try event(renewal.with { $0.lineItem = "5" })]
        },
        Case("a purchase that is said to be younger than before", after: ordered) {
            let first = purchase.with { $0.token = token }
            return [try event(first), try event(first.with { ($0.purchaseDay, $0.signedDay) = (10, 20) })]
        },
        Case("a family member's period") { [try event(purchase), try event(renewal.with { $0.ownership = .familyShared })] },
        Case("a period that was refunded before it was seen") {
            [try event(purchase), try event(renewal.with { ($0.signedDay, $0.revocationDay) = (35, 35) })]
        },
        Case("a current charge whose end moves before another's") {
            let other = Facts.Charge("1002", onDay: 30).with { $0.expiresDay = 50 }
            return [try event(renewal), try event(other), try event(renewal.with { ($0.expiresDay, $0.signedDay) = (40, 41) })]
        },
        Case("another charge whose end moves behind the current one's") {
            let other = Facts.Charge("1002", onDay: 30).with { $0.expiresDay = 50 }
            return [try event(renewal), try event(other), try event(other.with { ($0.expiresDay, $0.signedDay) = (70, 41) })]
        },
        Case("a period that is of another product now") {
            [try event(purchase), try event(purchase.with { ($0.product, $0.signedDay) = ("pro.yearly", 5) })]
        },
        Case("a register that is older than the first sight of the period") {
            [try event(purchase, .expired), try event(renewal, .expired, signedDay: 0)]
        },
        Case("a later token of a renewal", after: ordered) {
            let other = UUID()
            return [
                try event(purchase), try event(renewal.with { $0.token = other }),
                try event(renewal.with { ($0.token, $0.signedDay) = (token, 41) }),
            ]
        },
        Case("a renewal that moves to another contract") {
            [try event(purchase), try event(renewal.with { $0.contract = "2000" }), try event(renewal.with { $0.signedDay = 40 })]
        },
    ]

    @Test(arguments: cases) func `single events give the same ledger as all events in one batch`(of history: Case) async throws {
        let events = try history.events()
        var states: [[String]] = []
        for batches in [events.map { [$0] }, [events]] {
            try await LedgerFixture.with { ledger in
                try await history.commands(ledger)
                for batch in batches { try await ledger.merge(batch) }
                states.append(try await ledger.state())
            }
        }
        #expect(states[0] == states[1])
    }
}
