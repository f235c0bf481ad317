import AppStore
import Ledger
import SignedTesting
import StoreSimulator
import StrictJSON
import Testing

/// Notifications that Apple has not documented yet, and older forms of documented ones.
struct UnknownTypeTests {
    private func notification(_ text: String) throws -> SimulatedNotification {
        var trigger = SignedScene.trigger(try NotificationKind(text))
        trigger.allowsUnknownKinds = true
        return try trigger.notification()
    }

    @Test(arguments: ["NEW_TYPE", "NEW_TYPE/INITIAL_BUY", "DID_RENEW/NEW_SUBTYPE", "REFUND/NEW_SUBTYPE", "TEST/INITIAL_BUY", "SUBSCRIBED"])
    func `an unknown or undocumented kind is unhandled, but has its facts`(text: String) throws {
        let facts = try SignedScene.facts(of: notification(text))
        #expect(facts.unhandledReason == "unknown_notification")
        #expect(facts.transaction != nil && facts.subscription != nil)
        #expect(facts.effects.map(\.key.kind) == [.granted])
        #expect(facts.refundStatement == nil)
    }

    @Test func `an unknown kind without a purchase is unhandled too`() throws {
        let test = try notification("TEST")
        let facts = try SignedScene.facts(of: SignedScene.sign(test, outer: { $0["notificationType"] = "GREETING" }))
        #expect(facts.unhandledReason == "unknown_notification")
        #expect(facts.transaction == nil && facts.effects.isEmpty)
    }

    @Test func `unknown values of a known kind are kept and change nothing else`() throws {
        let jws = try SignedScene.sign(
            notification("DID_RENEW"),
            data: { ($0["status"], $0["consumptionRequestReason"]) = (9, "CURIOSITY") },
            transaction: { ($0["offerType"], $0["transactionReason"], $0["offerDiscountType"]) = (77, "GIFT", "BARTER") },
            renewalInfo: { ($0["expirationIntent"], $0["autoRenewStatus"], $0["priceIncreaseStatus"]) = (88, 3, 4) }
        )
        let facts = try SignedScene.facts(of: jws)
        #expect(facts.unhandledReason == nil)
        #expect(facts.effects.map(\.key.kind) == [.granted])
        #expect(facts.transaction?.payload.offerType?.rawValue == 77)
        #expect(facts.transaction?.payload.transactionReason?.rawValue == "GIFT")
        #expect(facts.subscription?.status?.rawValue == 9)
        #expect(facts.subscription?.renewalInfo?.expirationIntent?.rawValue == 88)
        #expect(facts.subscription?.renewalInfo?.autoRenewStatus?.rawValue == 3)
    }

    @Test func `a product of an unknown type is a purchase without periods`() throws {
        let jws = try SignedScene.sign(notification("ONE_TIME_CHARGE"), transaction: { $0["type"] = "Rental" })
        let facts = try SignedScene.facts(of: jws)
        #expect(facts.unhandledReason == nil)
        #expect(facts.transaction?.payload.type?.rawValue == "Rental")
        #expect(facts.effects.map(\.key.subject) == [facts.transaction?.key.id])
    }

    @Test func `unknown members are ignored everywhere`() throws {
        let add: SignedScene.Change = { $0["tomorrow"] = ["deep": [1, ["er": .null]]] }
        let renewal = try notification("DID_RENEW")
        let facts = try SignedScene.facts(of: SignedScene.sign(renewal, outer: add, data: add, transaction: add, renewalInfo: add))
        #expect(facts.unhandledReason == nil)
        #expect(facts.transaction?.key.id == renewal.transactionID)
    }

    @Test(arguments: [SignedScene.app, SignedScene.sandboxApp])
    func `the payloads of 2021 have the environment of their notification`(app: SimulatedApp) throws {
        var renewal = try SignedScene.trigger(NotificationKind(.didRenew), app: app).notification()
        renewal.shape = .year2021
        let facts = try SignedScene.facts(of: renewal)
        let fact = try #require(facts.transaction)
        #expect(fact.payload.environment == nil && fact.payload.transactionReason == nil)
        #expect(facts.subscription?.renewalInfo?.environment == nil)
        #expect(fact.key.environment == app.environment && facts.subscription?.key.environment == app.environment)
        #expect(facts.effects.map(\.key.environment) == [app.environment])
        #expect(facts.unhandledReason == nil)
    }

    @Test func `dates with a fraction are whole milliseconds, rounded down`() throws {
        let renewal = try notification("DID_RENEW")
        let dated = try #require(renewal.transaction)
        let fractional = { (date: Timestamp) throws in
            try JSONParser().parse(Array("\(date.millisecondsSince1970).875".utf8))
        }
        let (purchase, signed) = (try fractional(dated.purchaseDate), try fractional(SignedScene.now))
        let jws = try SignedScene.sign(
            renewal,
            outer: { $0["signedDate"] = signed },
            transaction: { ($0["purchaseDate"], $0["signedDate"]) = (purchase, signed) },
            renewalInfo: { $0["signedDate"] = signed }
        )
        let facts = try SignedScene.facts(of: jws)
        #expect(facts.transaction?.purchaseDate == dated.purchaseDate)
        #expect(facts.transaction?.version.signedDate == SignedScene.now)
        #expect(facts.subscription?.version.signedDate == SignedScene.now)
        #expect(facts.effects.first?.occurredAt == dated.purchaseDate)
    }

    @Test func `a transaction without a required member is unhandled, and the reason names the member`() throws {
        let jws = try SignedScene.sign(notification("DID_RENEW"), transaction: { $0["purchaseDate"] = nil })
        let facts = try SignedScene.facts(of: jws)
        #expect(facts.unhandledReason == "incomplete_transaction:purchaseDate")
        #expect(facts.transaction == nil && facts.subscription != nil)
    }
}
