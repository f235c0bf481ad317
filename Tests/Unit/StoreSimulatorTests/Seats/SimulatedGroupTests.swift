import AppStore
import StoreSimulator
import Testing

/// Groups with their members, and organizations.
struct SimulatedGroupTests {
    private static let plan = SimulatedProduct.subscription("com.example.app.team", price: 9990)

    @Test(arguments: [false, true], [false, true])
    func `a member's transaction repeats the purchaser's seats for the same period`(repeatsPrice: Bool, sharesContract: Bool) throws {
        var store = SimulatedStore.test()
        var (group, bought) = try SimulatedGroup.purchase(of: SeatTerms(5), to: Self.plan, in: &store)
        (group.repeatsPrice, group.sharesContract) = (repeatsPrice, sharesContract)
        group.purchaser?.advance(by: .seconds(3 * 86_400))
        _ = try group.purchaser?.refundSeats(1)
        let joined = try group.join(in: &store)
        try check(joined, of: bought, repeatsPrice, sharesContract)
        #expect(joined.type == .subscribed && joined.subtype == .initialBuy)
        #expect(try #require(joined.transaction?.purchaseDate) > #require(bought.transaction?.purchaseDate))
        _ = try group.join(in: &store)

        _ = try group.purchaser?.addSeats(2)
        let renewed = try group.renew()
        #expect(renewed.map(\.type) == [.didRenew, .didRenew, .didRenew] && renewed.map { $0.transaction?.quantity } == [7, 7, 7])
        for member in renewed.dropFirst() {
            try check(member, of: renewed[0], repeatsPrice, sharesContract)
            #expect(member.transaction?.purchaseDate == renewed[0].transaction?.purchaseDate)
        }
        #expect(Set(renewed.compactMap(\.transactionID)).count == 3)
    }

    private func check(
        _ notification: SimulatedNotification,
        of purchase: SimulatedNotification,
        _ repeatsPrice: Bool,
        _ sharesContract: Bool
    ) throws {
        let (member, bought) = (try #require(notification.transaction), try #require(purchase.transaction))
        #expect(member.ownership == .assigned && bought.ownership == .purchased)
        #expect(member.quantity == bought.quantity && member.seats == bought.seats && member.expiresDate == bought.expiresDate)
        #expect(member.price == (repeatsPrice ? bought.price : nil))
        #expect((member.originalTransactionID == bought.originalTransactionID) == sharesContract)
        #expect(member.appTransactionID != bought.appTransactionID)
        #expect(notification.renewalInfo?.renewalQuantity == nil && notification.renewalInfo?.renewalTiers == nil)
    }

    @Test func `a removed member's transaction is revoked without money, and the purchaser's is not`() throws {
        var store = SimulatedStore.test()
        var group = try SimulatedGroup.purchase(of: SeatTerms(3), to: Self.plan, in: &store).group
        _ = try group.join(in: &store)
        var member = group.members[0]
        #expect(throws: SimulationError.self) { try member.refund() }
        let removed = try group.remove(0)
        #expect(removed.type == .revoke && removed.transaction?.revocation?.type == .assignmentRevoke)
        #expect(removed.transaction?.revocation?.percentage == nil && removed.status == .revoked && group.members.isEmpty)
        #expect(group.purchaser?.subscription?.current.revocation == nil)
    }

    @Test func `members of a group whose invitations the developer hosts get no transactions`() throws {
        var store = SimulatedStore.test()
        var group = try SimulatedGroup.purchase(of: SeatTerms(3, .developer), to: Self.plan, in: &store).group
        #expect(throws: SimulationError.self) { try group.join(in: &store) }
    }

    @Test func `an organization has members and no purchaser`() throws {
        var store = SimulatedStore.test()
        var organization = SimulatedGroup.organization(buying: Self.plan)
        let joined = try [organization.join(in: &store), organization.join(in: &store)]
        for transaction in joined.compactMap(\.transaction) {
            #expect(transaction.ownership == .assigned && transaction.price == nil && transaction.quantity == 1 && transaction.seats == nil)
        }
        #expect(try organization.renew().map(\.type) == [.didRenew, .didRenew])
        #expect(try organization.remove(1).transaction?.revocation?.type == .assignmentRevoke)
    }
}
