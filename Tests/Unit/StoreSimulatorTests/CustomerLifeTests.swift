import AppStore
import Foundation
import StoreSimulator
import Testing

struct CustomerLifeTests {
    @Test func `a first purchase is its own contract and has the given token`() throws {
        var life = SimulatedStore.test().customer()
        let token = UUID()
        let notification = try life.subscribe(appAccountToken: token)
        let transaction = try #require(notification.transaction)
        #expect(notification.type == .subscribed && notification.subtype == .initialBuy && notification.status == .active)
        #expect(transaction.transactionID == transaction.originalTransactionID && transaction.reason == .purchase)
        #expect(transaction.appAccountToken == token)
        #expect(transaction.purchaseDate.millisecondsSince1970 % 1000 == 0 && transaction.purchaseDate <= life.now)
        #expect(notification.renewalInfo?.renewalDate == transaction.expiresDate)
    }

    @Test func `a renewal is charged in the last day, joins the old period and repeats the token`() throws {
        var life = SimulatedStore.test().customer()
        let first = try #require(try life.subscribe(appAccountToken: UUID()).transaction)
        let notification = try life.renew()
        let second = try #require(notification.transaction)
        let end = try #require(first.expiresDate)
        #expect(second.purchaseDate == end && second.appAccountToken == first.appAccountToken && second.reason == .renewal)
        #expect(notification.signedDate < end && notification.signedDate >= end.advanced(byDays: -1))
        #expect(second.originalTransactionID == first.transactionID && second.transactionID != first.transactionID)
        #expect(second.webOrderLineItemID != first.webOrderLineItemID && second.originalPurchaseDate == first.purchaseDate)
    }

    @Test func `a monthly period ends on the last day of a shorter month`() {
        let start = Timestamp(millisecondsSince1970: 1_769_846_400_123)  // 2026-01-31T08:00:00.123Z
        #expect(SubscriptionPeriod.months(1).end(from: start).description == "2026-02-28T08:00:00.123Z")
        #expect(SubscriptionPeriod.years(1).end(from: start).description == "2027-01-31T08:00:00.123Z")
        #expect(SubscriptionPeriod.weeks(1).end(from: start).description == "2026-02-07T08:00:00.123Z")
    }

    @Test func `a customer who unsubscribes keeps access until the end`() throws {
        var life = SimulatedStore.test().customer()
        _ = try life.subscribe()
        let off = try life.turnAutoRenewOff()
        #expect(off.status == .active && off.renewalInfo?.autoRenews == false && off.renewalInfo?.renewalPrice == nil)
        let end = try #require(off.transaction?.expiresDate)
        let expired = try life.expire(.voluntary)
        #expect(expired.status == .expired && expired.signedDate > end && expired.renewalInfo?.expirationIntent == .customerCancelled)
        #expect(throws: SimulationError.self) { try life.renew() }
    }

    @Test func `two accounts on one Apple ID share the contract, and renewals repeat the second one's token`() throws {
        var life = SimulatedStore.test().customer()
        let (a, b) = (UUID(), UUID())
        let first = try life.subscribe(appAccountToken: a)
        _ = try life.turnAutoRenewOff()
        _ = try life.expire(.voluntary)
        let second = try life.subscribe(appAccountToken: b)
        #expect(second.subtype == .resubscribe && second.originalTransactionID == first.originalTransactionID)
        #expect(second.transaction?.appAccountToken == b)
        #expect(try life.renew().transaction?.appAccountToken == b)
    }

    @Test func `a grace period keeps service, and recovery within it leaves no gap`() throws {
        var life = SimulatedStore.test().customer()
        let end = try #require(try life.subscribe().transaction?.expiresDate)
        let failed = try life.failToRenew(withGracePeriod: true)
        #expect(failed.status == .billingGracePeriod && failed.renewalInfo?.isInBillingRetryPeriod == true)
        #expect(failed.renewalInfo?.gracePeriodExpiresDate == end.advanced(byDays: 16))
        var recovering = life
        #expect(try recovering.recoverBilling().transaction?.purchaseDate == end)
        let over = try life.endGracePeriod()
        #expect(over.status == .billingRetry && over.renewalInfo?.gracePeriodExpiresDate == nil)
        let recovered = try life.recoverBilling()
        #expect(try #require(recovered.transaction?.purchaseDate) > end.advanced(byDays: 16) && recovered.status == .active)
    }

    @Test func `billing retry ends after sixty days`() throws {
        var life = SimulatedStore.test().customer()
        let end = try #require(try life.subscribe().transaction?.expiresDate)
        #expect(try life.failToRenew(withGracePeriod: false).status == .billingRetry)
        let expired = try life.expire(.billingRetry)
        #expect(expired.signedDate > end.advanced(byDays: 60) && expired.renewalInfo?.expirationIntent == .billingError)
    }

    @Test func `an upgrade takes effect at once and a downgrade at the renewal`() throws {
        var life = SimulatedStore.test().customer()
        let plans = life.catalogue.plans
        let old = try #require(try life.subscribe(to: plans[0]).transaction)
        life.advance(by: .seconds(86_400))
        let upgrade = try life.changePlan(to: plans[1])
        #expect(upgrade.subtype == .upgrade && upgrade.transaction?.product == plans[1])
        #expect(upgrade.transaction?.originalTransactionID == old.transactionID)
        #expect(life.transaction(old.transactionID)?.isUpgraded == true)
        let downgrade = try life.changePlan(to: plans[0])
        #expect(downgrade.subtype == .downgrade && downgrade.transaction?.product == plans[1])
        #expect(downgrade.renewalInfo?.autoRenewProduct == plans[0])
        #expect(try life.keepPlan().renewalInfo?.autoRenewProduct == plans[1])
        _ = try life.changePlan(to: plans[0])
        #expect(try life.renew().transaction?.product == plans[0])
    }

    @Test func `a crossgrade takes effect at once only with the same period`() throws {
        var life = SimulatedStore.test().customer()
        let plans = life.catalogue.plans
        _ = try life.subscribe(to: plans[0])
        var other = life
        #expect(try life.changePlan(to: plans[3]).subtype == .upgrade)
        #expect(try other.changePlan(to: plans[2]).subtype == .downgrade)
    }

    @Test func `a refund of an old period has the current renewal info`() throws {
        var life = SimulatedStore.test().customer()
        let first = try life.subscribe()
        let second = try life.renew()
        let refund = try life.refund(first.transactionID)
        #expect(refund.transaction?.transactionID == first.transactionID && refund.transaction?.revocation != nil)
        #expect(refund.status == .active && refund.renewalInfo?.renewalDate == second.transaction?.expiresDate)
        #expect(try life.renew().status == .active)
    }

    @Test func `a refund of the current period ends it, and a reversal restores it`() throws {
        var life = SimulatedStore.test().customer()
        _ = try life.subscribe()
        life.advance(by: .seconds(5 * 86_400))
        let refund = try life.refund(percentage: 30_000, reason: .refundedDueToIssue)
        #expect(refund.status == .revoked && refund.transaction?.revocation?.type == .refundProrated)
        let reversed = try life.reverseRefund()
        #expect(reversed.status == .active && reversed.transaction?.revocation == nil)
        #expect(reversed.transactionID == refund.transactionID)
    }

    @Test func `a one-time charge has no renewal info and no status`() throws {
        var life = SimulatedStore.test().customer()
        _ = try life.subscribe()
        let charge = try life.buy(life.catalogue.oneTimeProducts[0], quantity: 3)
        #expect(charge.type == .oneTimeCharge && charge.renewalInfo == nil && charge.status == nil)
        #expect(charge.transaction?.price == 2970 && charge.transaction?.expiresDate == nil)
        let asked = try life.requestConsumption(charge.transactionID)
        #expect(asked.state?.consumptionRequestReason == .unintendedPurchase && asked.renewalInfo == nil)
    }

    @Test func `a family member has transactions of its own, pays nothing and can be revoked`() throws {
        var store = SimulatedStore.test()
        var payer = store.makeCustomer()
        let paid = try payer.subscribe()
        var member = store.makeFamilyMember(of: payer)
        let shared = try member.subscribe()
        #expect(shared.transaction?.ownership == .familyShared && shared.transaction?.price == nil)
        #expect(shared.originalTransactionID != paid.originalTransactionID)
        #expect(try member.revoke().status == .revoked)
        #expect(throws: SimulationError.self) { try payer.revoke() }
    }

    @Test func `a price increase needs consent before a renewal`() throws {
        var life = SimulatedStore.test().customer()
        _ = try life.subscribe()
        let pending = try life.increasePrice(to: 11_990)
        #expect(pending.subtype == .pending && pending.renewalInfo?.priceIncreaseStatus == .customerHasNotResponded)
        #expect(throws: SimulationError.self) { try life.renew() }
        var refusing = life
        #expect(try refusing.expire(.priceIncrease).renewalInfo?.expirationIntent == .customerDidNotConsentToPriceIncrease)
        #expect(try life.acceptPriceIncrease().subtype == .accepted)
        #expect(try life.renew().transaction?.price == 11_990)
        #expect(try life.renew().transaction?.price == 11_990)
    }

    @Test func `an offer code's price lasts its periods`() throws {
        var life = SimulatedStore.test().customer()
        _ = try life.subscribe(offer: .freeWeek)
        #expect(try life.renew().transaction?.price == 4990)
        #expect(try life.redeem(.codeForThreeMonths).renewalInfo?.renewalPrice == 1990)
        for _ in 1...3 { #expect(try life.renew().transaction?.offer?.type == .offerCode) }
        #expect(try life.renew().transaction?.price == 4990)
    }

    @Test func `an extension moves the expiry and the renewal`() throws {
        var life = SimulatedStore.test().customer()
        let end = try #require(try life.subscribe().transaction?.expiresDate)
        let extended = try life.extendRenewal(byDays: 30)
        #expect(extended.transaction?.expiresDate == end.advanced(byDays: 30))
        #expect(extended.renewalInfo?.renewalDate == end.advanced(byDays: 30))
        #expect(try life.renew().transaction?.purchaseDate == end.advanced(byDays: 30))
    }

    @Test func `several transactionIds can name one period`() throws {
        var life = SimulatedStore.test().customer()
        let first = try #require(try life.subscribe().transaction)
        try life.reissueTransactionID()
        let again = try #require(try life.turnAutoRenewOff().transaction)
        #expect(again.transactionID != first.transactionID && again.webOrderLineItemID == first.webOrderLineItemID)
    }

    @Test func `an impossible event throws the reason and changes nothing`() throws {
        var life = SimulatedStore.test().customer()
        #expect(throws: SimulationError.self) { try life.renew() }
        _ = try life.subscribe()
        let before = life
        for event in [{ try $0.subscribe() }, { try $0.recoverBilling() }, { try $0.turnAutoRenewOn() }, { try $0.revoke() }]
            as [(inout CustomerLife) throws -> SimulatedNotification]
        {
            let error = #expect(throws: SimulationError.self) { try event(&life) }
            #expect(error?.code == .impossibleEvent)
        }
        #expect(life.now == before.now && life.subscription == before.subscription)
        #expect(
            try life.renew().transactionID
                == {
                    var copy = before; return try copy.renew().transactionID
                }()
        )
    }
}
