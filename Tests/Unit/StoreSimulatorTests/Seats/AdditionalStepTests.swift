import AppStore
import AppStoreVerification
import Foundation
import StoreSimulator
import Testing

/// Random lives with seats, commitments and unknown values. A failure names the seed.
struct AdditionalStepTests {
    private static let all = LifeStep.groups + LifeStep.commitments + LifeStep.unknownValues
    /// What only additional steps send.
    static let kinds: Set<NotificationKind> = [
        NotificationKind(.refund, .seats), NotificationKind(.unclaimSeats), NotificationKind(.didChangeRenewalPref, .increaseQuantity),
        NotificationKind(.didChangeRenewalPref, .decreaseQuantity),
    ]

    private static func life(seed: UInt64, _ steps: [LifeStep]) throws -> (life: CustomerLife, sent: [SimulatedNotification]) {
        var store = SimulatedStore.test(seed: seed, now: Timestamp.testNow.advanced(byDays: -900))
        var life = store.makeCustomer()
        life.additionalSteps = steps
        let sent = try life.live(notifications: 40)
        return (life, sent)
    }

    @Test func `lives with additional steps verify, and together they have all that these bring`() async throws {
        let (signer, verifier) = (try Genuine.signer, try Genuine.verifier)
        var (kinds, facts): (Set<NotificationKind>, Set<String>) = ([], [])
        for seed in UInt64(1)...200 {
            await Task.yield()
            let (life, sent) = try Self.life(seed: seed, Self.all)
            for (index, notification) in sent.enumerated() {
                kinds.insert(NotificationKind(notification.type, notification.subtype))
                let place: Comment = "seed \(seed), notification \(index): \(notification.type) \(notification.subtype?.rawValue ?? "")"
                check(notification, place)
                facts.formUnion(notification.transaction.map(Self.facts) ?? [])
                guard seed <= 5, notification.state != nil || notification.type != .unclaimSeats else { continue }
                let verdict = verifier.verifyNotification(try signer.sign(notification).jws[...], receivedAt: notification.signedDate)
                #expect(verdict.accepted?.transaction?.value.transactionId == notification.transactionID, place)
            }
            facts.formUnion(checkPeriods(life, "seed \(seed)"))
        }
        #expect(Self.kinds.isSubset(of: kinds), "\(Self.kinds.subtracting(kinds))")
        #expect(
            facts == [
                "addition", "own line item", "shared line item", "refunded addition", "revoked seats", "unequal average", "assigned",
                "removed",
                "organization", "month 12", "LENT", "LOAN_REVOKE", "Subscription Bundle", "offer 5",
            ]
        )
    }

    @Test func `a life is the same with additional steps that are never possible`() throws {
        var store = SimulatedStore.test(seed: 4)
        let buyer = store.makeCustomer()
        var (plain, other) = (store.makeFamilyMember(of: buyer), CustomerLife?.none)
        other = plain
        other?.additionalSteps = LifeStep.commitments
        #expect(try plain.live(notifications: 40) == other?.live(notifications: 40))
    }

    @Test func `the same life always continues in the same way`() throws {
        #expect(try Self.life(seed: 7, Self.all).sent == Self.life(seed: 7, Self.all).sent)
    }

    private static func facts(of charge: SimulatedTransaction) -> [String] {
        var facts: [String] = []
        if charge.hasSeatAddition { facts.append("addition") }
        if charge.hasSeatAddition, charge.revocation?.isRefund == true { facts.append("refunded addition") }
        if charge.seats?.revoked != nil { facts.append("revoked seats") }
        if let seats = charge.seats, charge.price.map({ $0 * Int64(charge.quantity) != seats.tiers.total }) ?? false {
            facts.append("unequal average")
        }
        if charge.ownership == .assigned { facts.append(charge.seats == nil ? "organization" : "assigned") }
        if charge.revocation?.type == .assignmentRevoke { facts.append("removed") }
        if charge.commitment?.number == 12 { facts.append("month 12") }
        if charge.ownership == .undocumented { facts.append("LENT") }
        if charge.revocation?.type == .undocumented { facts.append("LOAN_REVOKE") }
        if charge.product.type == .undocumented { facts.append("Subscription Bundle") }
        if charge.offer?.type == .retentionOffer { facts.append("offer 5") }
        return facts
    }

    /// The rules of Apple's pages for one statement.
    private func check(_ notification: SimulatedNotification, _ place: Comment) {
        guard let charge = notification.transaction else { return }
        if let seats = charge.seats {
            #expect(seats.tiers.reduce(0) { $0 + $1.quantity } == charge.quantity, place)
            #expect(charge.price == nil || charge.price == seats.tiers.averagePrice, place)
            #expect(seats.revoked.map { $0 > 0 && $0 < charge.quantity && charge.ownership == .purchased } ?? true, place)
        }
        #expect(charge.ownership == .purchased || charge.revocation?.isRefund != true, place)
        #expect(notification.subtype != .seats || charge.revocation == nil, place)
        let info = notification.renewalInfo
        #expect((info?.renewalQuantity == nil) == (info?.renewalTiers == nil), place)
        #expect(notification.status != .revoked || info?.autoRenews == false, place)
    }

    /// Transactions of one period end together, and each of several says why there are several. Returns which line items they have.
    private func checkPeriods(_ life: CustomerLife, _ place: Comment) -> [String] {
        let additions = Dictionary(grouping: life.subscription?.transactions.filter(\.hasSeatAddition) ?? []) { $0.expiresDate }
        for parts in additions.values {
            #expect(parts.count > 1 && parts.count <= 4, place)
            #expect(parts.dropFirst().allSatisfy { $0.reason == .purchase && $0.purchaseDate >= parts[0].purchaseDate }, place)
        }
        #expect(life.subscription?.transactions.allSatisfy { $0.ownership == life.ownership } ?? true, place)
        return additions.values.map { Set($0.map(\.webOrderLineItemID)).count == 1 ? "shared line item" : "own line item" }
    }
}
