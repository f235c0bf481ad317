import AppStore
import AppStoreVerification
import Foundation
import StoreSimulator
import Testing

/// Random lives. A failure names the seed; `LIFE_SEED` in the environment runs only that one.
struct RandomLifeTests {
    static let seeds: [UInt64] = ProcessInfo.processInfo.environment["LIFE_SEED"].flatMap(UInt64.init).map { [$0] } ?? Array(1...400)

    @Test func `the same seed gives the same life`() throws {
        #expect(try Self.life(seed: 7).sent == Self.life(seed: 7).sent)
        #expect(try Self.life(seed: 7).sent != Self.life(seed: 8).sent)
    }

    @Test func `random lives include all notifications about customers`() async throws {
        var kinds: Set<NotificationKind> = []
        for seed in Self.seeds {
            await Task.yield()
            for notification in try Self.life(seed: seed).sent { kinds.insert(NotificationKind(notification.type, notification.subtype)) }
        }
        let notices: Set<NotificationTypeV2> = [.test, .externalPurchaseToken]
        let expected = NotificationTriggerTests.kinds.filter { !notices.contains($0.type) && $0.subtype != .summary }
        let missing = expected.filter { !kinds.contains($0) }
        #expect(missing.isEmpty || Self.seeds.count < 400, "\(missing)")
    }

    @Test(arguments: seeds) func `a life is consistent`(seed: UInt64) throws {
        let (life, sent) = try Self.life(seed: seed)
        var previous: SimulatedNotification?
        for (index, notification) in sent.enumerated() {
            let place: Comment = "seed \(seed), notification \(index): \(NotificationKind(notification.type, notification.subtype))"
            try checkDates(notification, after: previous, place)
            try checkState(notification, place)
            previous = notification
        }
        try checkPeriods(life, "seed \(seed)")
        #expect(Set(sent.map(\.notificationUUID)).count == sent.count, "seed \(seed)")
    }

    @Test(arguments: seeds.prefix(30)) func `all notifications of a life verify`(seed: UInt64) throws {
        let signer = try Genuine.signer
        let verifier = try Genuine.verifier
        for (index, notification) in try Self.life(seed: seed).sent.enumerated() {
            var notification = notification
            if seed % 5 == 0 { notification.shape = .year2021 }
            let verdict = verifier.verifyNotification(try signer.sign(notification).jws, receivedAt: notification.signedDate)
            #expect(verdict.accepted != nil, "seed \(seed), notification \(index): \(verdict)")
            #expect(verdict.accepted?.transaction?.value.transactionId == notification.transactionID)
        }
    }

    @Test func `customers of one store never share an identifier`() async throws {
        var store = SimulatedStore.test(seed: 3)
        var seen: Set<String> = []
        for _ in 0..<200 {
            await Task.yield()
            var life = store.makeCustomer()
            _ = try life.live(notifications: 20)
            let ids = Set((life.subscription?.transactions ?? []).map(\.transactionID) + life.oneTimeCharges.map(\.transactionID))
            #expect(seen.isDisjoint(with: ids))
            seen.formUnion(ids)
        }
    }

    @Test func `the number of digits of transactionIds can grow`() throws {
        var life = SimulatedStore.test().customer()
        life.numberCharges(from: 8_000_003, step: 1_000_000)
        _ = try life.subscribe()
        for _ in 0..<4 { _ = try life.renew() }
        let ids = try #require(life.subscription?.transactions.map(\.transactionID))
        #expect(ids.allSatisfy { $0.hasSuffix("000003") })
        #expect(ids.last?.count == 8)
    }

    @Test func `reusable tokens are used again`() throws {
        let token = UUID()
        let lives = try (1...20 as ClosedRange<UInt64>).map { seed in
            var life = SimulatedStore.test(seed: seed).customer()
            life.reusableTokens = [token]
            return try life.live(notifications: 20)
        }
        let tokens = lives.joined().compactMap(\.transaction?.appAccountToken)
        #expect(tokens.contains(token) && tokens.contains { $0 != token })
    }

    @Test func `events can have the same signed date if the options allow it`() throws {
        var life = SimulatedStore.test().customer()
        life.leastMillisecondsBetweenEvents = 0
        #expect(try life.subscribe().signedDate == life.turnAutoRenewOff().signedDate)
    }

    /// Signed dates ascend, parts are signed within 100 ms, and no part of the current state is older than one of an earlier state.
    private func checkDates(_ notification: SimulatedNotification, after previous: SimulatedNotification?, _ place: Comment) throws {
        let inner = [notification.state?.transaction?.signedDate, notification.state?.renewalInfo?.signedDate].compactMap { $0 }
        let outer = notification.signedDate.millisecondsSince1970
        #expect(inner.allSatisfy { (outer - 100...outer).contains($0.millisecondsSince1970) }, place)
        guard let previous else { return }
        #expect(notification.signedDate > previous.signedDate, place)
        let before = [previous.state?.transaction?.signedDate, previous.state?.renewalInfo?.signedDate].compactMap { $0 }
        #expect(inner.allSatisfy { date in before.allSatisfy { $0 < date } }, place)
    }

    private func checkState(_ notification: SimulatedNotification, _ place: Comment) throws {
        guard let transaction = notification.transaction else { return }
        #expect((notification.renewalInfo == nil) == (transaction.product.type != .autoRenewableSubscription), place)
        #expect(!transaction.isUpgraded || notification.type == .refundDeclined, place)
        guard let info = notification.renewalInfo, let status = notification.status else { return }
        let now = notification.signedDate
        #expect(info.originalTransactionID == transaction.originalTransactionID, place)
        switch status {
        case .active: #expect(now < info.renewalDate && info.expirationIntent == nil && info.gracePeriodExpiresDate == nil, place)
        case .billingGracePeriod:
            #expect(now > info.renewalDate && info.gracePeriodExpiresDate.map { now < $0 } == true && info.autoRenews, place)
        case .billingRetry: #expect(now > info.renewalDate && info.isInBillingRetryPeriod == true && info.autoRenews, place)
        case .expired: #expect(now > info.renewalDate && info.expirationIntent != nil && !info.autoRenews, place)
        case .revoked: #expect(!info.autoRenews, place)
        default: Issue.record("status \(status) at \(place)")
        }
    }

    /// Periods join, no period begins before an earlier one, and a reissued transaction has the same period.
    private func checkPeriods(_ life: CustomerLife, _ place: Comment) throws {
        let transactions = life.subscription?.transactions ?? []
        for (old, new) in zip(transactions, transactions.dropFirst()) {
            #expect(new.purchaseDate >= old.purchaseDate, place)
            #expect(new.originalTransactionID == old.originalTransactionID && new.originalPurchaseDate == old.originalPurchaseDate, place)
            #expect(try #require(UInt64(new.transactionID)) > #require(UInt64(old.transactionID)), place)
            if new.webOrderLineItemID == old.webOrderLineItemID {
                #expect(new.purchaseDate == old.purchaseDate && new.expiresDate == old.expiresDate, place)
            } else if new.reason == .renewal {
                #expect(try new.purchaseDate >= #require(old.expiresDate), place)
            }
        }
    }

    /// A customer or a family member with thirty notifications.
    private static func life(seed: UInt64) throws -> (life: CustomerLife, sent: [SimulatedNotification]) {
        var store = SimulatedStore.test(seed % 3 == 0 ? .testSandbox : .test, seed: seed, now: Timestamp.testNow.advanced(byDays: -900))
        var life = store.makeCustomer()
        if seed % 6 == 0 { life = store.makeFamilyMember(of: life) }
        let sent = try life.live(notifications: 30)
        return (life, sent)
    }
}
