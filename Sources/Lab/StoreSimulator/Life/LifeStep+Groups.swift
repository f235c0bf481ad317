import AppStore

extension LifeStep {
    /// Steps of the purchasers and of the members of groups and organizations.
    package static let groups: [LifeStep] = [
        LifeStep("subscribe for a group", weight: 8, when: { $0.canSubscribe && $0.ownership == .purchased }) {
            life throws(SimulationError) in
            let terms = life.someSeats()
            let plan = life.catalogue.plans.randomElement(using: &life.additionsGenerator)
            return try life.subscribe(to: plan, appAccountToken: life.someToken(), terms: PurchaseTerms(seats: terms))
        },
        LifeStep("take a seat", weight: 3, when: \.mayBeginOtherwise) { life throws(SimulationError) in
            let isInOrganization = Int.random(in: 0..<3, using: &life.additionsGenerator) == 0
            var assignment = SeatAssignment(seats: isInOrganization ? nil : life.someSeats(.apple))
            assignment.repeatsPrice = Bool.random(using: &life.additionsGenerator)
            try life.takeSeat(assignment)
            return nil
        },
        LifeStep("add seats", weight: 6, when: \.mayAddSeats) { life throws(SimulationError) in
            try life.addSeats(Int32.random(in: 1...4, using: &life.additionsGenerator))
        },
        LifeStep("change the renewal's seats", weight: 3, when: { !$0.otherRenewalSeats.isEmpty }) { life throws(SimulationError) in
            guard let seats = life.otherRenewalSeats.randomElement(using: &life.additionsGenerator) else { return nil }
            return try life.changeRenewalSeats(to: seats)
        },
        LifeStep("refund seats", weight: 4, when: { $0.purchasesOfSeats.contains { $0.seatsLeft > 1 } }) { life throws(SimulationError) in
            let purchases = life.purchasesOfSeats.filter { $0.seatsLeft > 1 }
            guard let purchase = purchases.randomElement(using: &life.additionsGenerator) else { return nil }
            let count = Int32.random(in: 1..<purchase.seatsLeft, using: &life.additionsGenerator)
            return try life.refundSeats(count, of: purchase.transactionID)
        },
        LifeStep("refund an addition", weight: 4, when: { !$0.additionsToRefund.isEmpty }) { life throws(SimulationError) in
            try life.refund(life.additionsToRefund.randomElement(using: &life.additionsGenerator)?.transactionID)
        },
        LifeStep("unclaim seats", weight: 2, when: { $0.isGroup && $0.subscription?.terms.seats?.invitations == .developer }) {
            life throws(SimulationError) in
            let count = Int.random(in: 1...3, using: &life.additionsGenerator)
            return try life.unclaimSeats(count, hasData: Int.random(in: 0..<3, using: &life.additionsGenerator) > 0)
        },
    ]
}

extension CustomerLife {
    /// Seats of a group with random terms, from one seat on.
    fileprivate mutating func someSeats(_ invitations: SimulatedSeats.Invitations? = nil) -> SeatTerms {
        let anyInvitations: SimulatedSeats.Invitations = Bool.random(using: &additionsGenerator) ? .apple : .developer
        return SeatTerms(
            Int32.random(in: 1...9, using: &additionsGenerator),
            invitations ?? anyInvitations,
            hasTiers: Bool.random(using: &additionsGenerator),
            addsToLineItem: Bool.random(using: &additionsGenerator)
        )
    }

    /// Whether seats of a running period are this customer's purchase.
    fileprivate var isGroup: Bool {
        isRunning && ownership == .purchased && subscription?.current.seats != nil && subscription?.terms.seats != nil
    }

    fileprivate var mayAddSeats: Bool { isGroup && subscription.map { !$0.hasCopies && $0.parts.count < 4 } ?? false }

    /// The numbers of seats that the renewal can change to.
    fileprivate var otherRenewalSeats: [Int32] {
        guard isGroup, let subscription, subscription.autoRenews, let renewing = subscription.terms.seats?.quantity else { return [] }
        let seats = subscription.parts.reduce(0) { $0 + $1.quantity }
        return (1...seats).filter { $0 != renewing }
    }

    /// Purchases of seats that are not refunded.
    fileprivate var purchasesOfSeats: [SimulatedTransaction] {
        guard ownership == .purchased else { return [] }
        return subscription?.transactions.filter { $0.seats != nil && $0.isRefundable } ?? []
    }

    /// Later transactions of the current period.
    fileprivate var additionsToRefund: [SimulatedTransaction] {
        guard isGroup, let subscription else { return [] }
        return subscription.parts.dropFirst().filter(\.isRefundable)
    }
}
