import AppStore
import FoundationEssentials
import InboxTesting
import LivesTesting
import PostgresTesting
import Randomness
import StoreSimulator
import Testing

/// What hurts people who keep such books by hand, each as a test. The property tests imply most of it; these say it in words.
///
/// Elsewhere: that an OCSP outage is no bad signature (AppStoreVerificationTests, NetworkTests), and that somebody notices when
/// notifications stop (EndToEndTests, OperatorCommandTests). Not yet: a 401 of Apple's API from clock skew, for nothing calls it.
struct HurtTests {
    private let token = UUID()

    @Test func `deliveries of one notification that race each other count once`() async throws {
        try await HurtScene.play { scene in
            let purchase = try scene.life.subscribe(appAccountToken: token)
            let events = (0..<16).map { _ in scene.event(purchase) }
            let facts = try events.map { try UnsignedFacts.facts(of: [$0]).map(BookHall.Step.event) }
            let hall = scene.hall
            try await withThrowingTaskGroup(of: Void.self) { group in
                for fact in facts { group.addTask { try await hall.process(fact) } }
                try await group.waitForAll()
            }
            #expect(try await scene.orders() == ["Production - paid"])
            #expect(try await scene.effects() == ["1 granted"])
        }
    }

    @Test func `a late old event does not overwrite newer state`() async throws {
        try await HurtScene.play { scene in
            let purchase = try scene.life.subscribe(appAccountToken: token)
            let farewell = try scene.life.turnAutoRenewOff()
            let end = try scene.life.expire(.voluntary)
            try await scene.take(end, farewell, purchase)
            #expect(try await scene.contracts() == ["Production - 2 ends"])
            #expect(try await scene.access() == [end.transaction?.expiresDate?.millisecondsSince1970])
        }
    }

    @Test func `a second wish not to renew counts although charge and type are those of the first`() async throws {
        try await HurtScene.play { scene in
            try await scene.take(try scene.life.subscribe())
            try await scene.take(try scene.life.turnAutoRenewOff(), try scene.life.turnAutoRenewOn())
            #expect(try await scene.contracts() == ["Production - 1 renews"])
            try await scene.take(try scene.life.turnAutoRenewOff())
            #expect(try await scene.contracts() == ["Production - 1 ends"])
            #expect(try await scene.effects() == ["1 granted", "2 will_not_renew", "1 will_renew"])
        }
    }

    @Test func `a notification may come before anybody told us who bought`() async throws {
        try await HurtScene.play { scene in
            let purchase = try scene.life.subscribe(appAccountToken: token)
            let renewal = try scene.life.renew()
            try await scene.take(renewal, purchase)
            #expect(try await scene.orders() == ["Production - paid", "Production - paid"])
            try await scene.order(token, user: "anna", for: purchase)
            #expect(try await scene.orders() == ["Production anna paid", "Production anna paid"])
            #expect(try await scene.contracts() == ["Production anna 1 renews"])
        }
    }

    @Test func `a purchase without appAccountToken is his who posts it first, in time`() async throws {
        try await HurtScene.play { scene in
            let purchase = try scene.life.subscribe()
            try await scene.take(purchase)
            try await scene.take(try scene.post(purchase, by: "late", after: .seconds(73 * 3600)))
            #expect(try await scene.contracts() == ["Production - 1 renews"])
            try await scene.take(try scene.post(purchase, by: "thief", after: .seconds(3600)))
            #expect(try await scene.contracts() == ["Production thief 1 renews"])
            // What was received earlier may be processed later: it is the earlier all the same.
            try await scene.take(try scene.post(purchase, by: "anna", after: .seconds(5)))
            #expect(try await scene.contracts() == ["Production anna 1 renews"])
            #expect(try await scene.orders() == ["Production anna paid"])
        }
    }

    @Test func `another account's purchase on the same Apple ID takes its own renewals and not those before`() async throws {
        try await HurtScene.play { scene in
            let others = UUID()
            let first = try scene.life.subscribe(appAccountToken: token)
            let renewal = try scene.life.renew()
            _ = try scene.life.turnAutoRenewOff()
            _ = try scene.life.expire(.voluntary)
            let second = try scene.life.subscribe(appAccountToken: others)
            let secondRenewal = try scene.life.renew()
            try await scene.order(token, user: "anna", for: first)
            try await scene.order(others, user: "berta", for: second)
            try await scene.take(first, second, secondRenewal, renewal)
            #expect(
                try await scene.orders() == [
                    "Production anna paid", "Production anna paid", "Production berta paid", "Production berta paid",
                ]
            )
            #expect(try await scene.contracts() == ["Production berta 1 renews"])
        }
    }

    @Test func `the refund of an old period leaves today's access`() async throws {
        try await HurtScene.play { scene in
            let purchase = try scene.life.subscribe(appAccountToken: token)
            let renewal = try scene.life.renew()
            let refund = try scene.life.refund(purchase.transactionID)
            try await scene.take(refund, renewal)
            #expect(try await scene.access() == [renewal.transaction?.expiresDate?.millisecondsSince1970])
            #expect(try await scene.orders() == ["Production - refunded", "Production - paid"])
        }
    }

    @Test func `Sandbox and Production never mix`() async throws {
        try await HurtScene.play { scene in
            let purchase = try scene.life.subscribe(appAccountToken: token)
            try await scene.order(token, user: "anna", for: purchase)
            var tester = HurtScene(hall: scene.hall, environment: .sandbox)
            // The same token, and the same numbers: Apple does not keep those of the two environments apart for ever.
            var test = purchase
            test.app.environment = .sandbox
            try await tester.take(test, try tester.life.subscribe(appAccountToken: token), try tester.life.refund())
            #expect(try await scene.orders().filter { $0.hasPrefix("Production") } == ["Production anna pending"])
            #expect(try await scene.contracts().filter { $0.hasPrefix("Production") } == [])
            let before = try await scene.hall.digests().filter { $0.hasPrefix("Sandbox") }
            try await scene.take(purchase, try scene.life.refund())
            #expect(try await scene.orders().filter { $0.hasPrefix("Production") } == ["Production anna refunded"])
            #expect(try await scene.hall.digests().filter { $0.hasPrefix("Sandbox") } == before)
        }
    }
}
