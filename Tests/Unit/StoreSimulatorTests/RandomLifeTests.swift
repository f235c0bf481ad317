import AppStore
import AppStoreVerification
import Foundation
import StoreSimulator
import Testing

/// Random lives. A failure names the seed; `LIFE_SEED` in the environment runs only that one.
struct RandomLifeTests {
    static let seeds: [UInt64] = ProcessInfo.processInfo.environment["LIFE_SEED"].flatMap(UInt64.init).map { [$0] } ?? Array(1...400)

    @Test func `each life is consistent, and together they have all notifications about customers`() async throws {
        var kinds: Set<NotificationKind> = []
        for seed in Self.seeds {
            await Task.yield()
            let (life, sent) = try Self.life(seed: seed)
            var previous: SimulatedNotification?
            for (index, notification) in sent.enumerated() {
                let kind = NotificationKind(notification.type, notification.subtype)
                let place: Comment = "seed \(seed), notification \(index): \(kind)"
                try checkDates(notification, after: previous, place)
                try checkState(notification, place)
                previous = notification
                kinds.insert(kind)
            }
            try checkPeriods(life, "seed \(seed)")
            #expect(Set(sent.map(\.notificationUUID)).count == sent.count, "seed \(seed)")
        }
        #expect(try Self.life(seed: 7).sent == Self.life(seed: 7).sent)
        let missing = NotificationTriggerTests.kinds.filter { kind in
            ![.test, .externalPurchaseToken].contains(kind.type) && kind.subtype != .summary && !kinds.contains(kind)
                && !AdditionalStepTests.kinds.contains(kind)
        }
        #expect(missing.isEmpty || Self.seeds.count < 400, "\(missing)")
    }

    @Test func `all notifications of a life verify`() async throws {
        let (signer, verifier) = (try Genuine.signer, try Genuine.verifier)
        for seed in Self.seeds.prefix(10) {
            await Task.yield()
            for (index, notification) in try Self.life(seed: seed).sent.enumerated() {
                var notification = notification
                if seed % 5 == 0 { notification.shape = .year2021 }
                let verdict = verifier.verifyNotification(try signer.sign(notification).jws[...], receivedAt: notification.signedDate)
                #expect(verdict.accepted?.transaction?.value.transactionId == notification.transactionID)
                #expect(verdict.accepted != nil, "seed \(seed), notification \(index): \(verdict)")
            }
        }
    }

    @Test func `a monthly period ends on the last day of a shorter month`() {
        let start = Timestamp(millisecondsSince1970: 1_769_846_400_123)  // 2026-01-31T08:00:00.123Z
        #expect(SubscriptionPeriod.months(1).end(from: start).description == "2026-02-28T08:00:00.123Z")
        #expect(SubscriptionPeriod.years(1).end(from: start).description == "2027-01-31T08:00:00.123Z")
        #expect(SubscriptionPeriod.weeks(1).end(from: start).description == "2026-02-07T08:00:00.123Z")
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
