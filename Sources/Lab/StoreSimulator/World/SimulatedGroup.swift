package import FoundationEssentials

/// The customer that bought the seats of a group, and the Apple IDs that have them; or the members of an organization, whose purchase is in no
/// transaction.
package struct SimulatedGroup: Sendable {
    package let plan: SimulatedProduct
    /// Nil in an organization.
    package var purchaser: CustomerLife?
    /// Members that have transactions; none if the developer hosts the invitations.
    package var members: [CustomerLife] = []
    /// Whether members' transactions repeat the purchaser's price; see ``SeatAssignment``.
    package var repeatsPrice = false
    /// Whether members' transactions name the purchaser's contract; see ``SeatAssignment``.
    package var sharesContract = false

    private init(plan: SimulatedProduct, purchaser: CustomerLife?) {
        self.plan = plan
        self.purchaser = purchaser
    }

    /// A customer subscribes for a group. Returns the group and the purchaser's notification.
    package static func purchase(
        of seats: SeatTerms,
        to plan: SimulatedProduct,
        appAccountToken: UUID? = nil,
        in store: inout SimulatedStore
    ) throws(SimulationError) -> (group: SimulatedGroup, notification: SimulatedNotification) {
        var purchaser = store.makeCustomer()
        let notification = try purchaser.subscribe(to: plan, appAccountToken: appAccountToken, terms: PurchaseTerms(seats: seats))
        return (SimulatedGroup(plan: plan, purchaser: purchaser), notification)
    }

    /// An organization that buys seats of a plan through Apple Business or Apple School Manager.
    package static func organization(buying plan: SimulatedProduct) -> SimulatedGroup { SimulatedGroup(plan: plan, purchaser: nil) }

    /// SUBSCRIBED with INITIAL_BUY of a new member, to the end of the group's period.
    package mutating func join(in store: inout SimulatedStore) throws(SimulationError) -> SimulatedNotification {
        var member = store.makeCustomer()
        if let purchaser { member.advance(to: purchaser.now) }
        try member.takeSeat(try assignment())
        let notification = try member.subscribe(to: plan)
        members.append(member)
        return notification
    }

    /// REVOKE of a member, who leaves or is removed; its seat is free. The purchaser's transactions do not change.
    package mutating func remove(_ index: Int) throws(SimulationError) -> SimulatedNotification {
        guard members.indices.contains(index) else { throw .impossible("REVOKE", because: "the group has no member \(index)") }
        if let purchaser { members[index].advance(to: purchaser.now) }
        let notification = try members[index].revoke()
        members.remove(at: index)
        return notification
    }

    /// DID_RENEW of the purchaser and of each member, whose periods are those of the purchaser.
    package mutating func renew() throws(SimulationError) -> [SimulatedNotification] {
        var sent: [SimulatedNotification] = []
        if let notification = try purchaser?.renew() { sent.append(notification) }
        for index in members.indices {
            let assignment = try self.assignment()
            members[index].assignment = assignment
            members[index].subscription?.terms = PurchaseTerms(seats: assignment.seats)
            sent.append(try members[index].renew())
        }
        return sent
    }

    /// What a member's next transaction is like: it repeats the seats of the purchaser's first one of the period.
    private func assignment() throws(SimulationError) -> SeatAssignment {
        guard let purchaser else { return SeatAssignment(seats: nil, repeatsPrice: repeatsPrice) }
        let subscription = try purchaser.activeContract(for: "an assignment")
        guard var seats = subscription.terms.seats, seats.invitations == .apple else {
            throw .impossible("an assignment", because: "members of this group get no transactions")
        }
        seats.quantity = subscription.parts[0].quantity
        let contract = SeatAssignment.Contract(
            originalTransactionID: subscription.originalTransactionID,
            originalPurchaseDate: subscription.originalPurchaseDate
        )
        return SeatAssignment(
            seats: seats,
            repeatsPrice: repeatsPrice,
            contract: sharesContract ? contract : nil,
            periodEnd: subscription.expiresDate
        )
    }
}
