package import AppStore
import Randomness

/// What the purchaser of a group does with its seats.
extension CustomerLife {
    /// DID_CHANGE_RENEWAL_PREF with INCREASE_QUANTITY: seats are added at once, by an additional transaction for the rest of the period.
    ///
    /// It does not replace the one before, and each transaction of the period has the reason SEAT_ADDITION from then on
    /// (appstoreserverapi/additionaltransactionreason). Apple names the subtype without its type (appstoreserverapi/renewalquantity), and
    /// does not document whether the price is for a whole period: here it is.
    package mutating func addSeats(_ count: Int32) throws(SimulationError) -> SimulatedNotification {
        let event = "DID_CHANGE_RENEWAL_PREF/INCREASE_QUANTITY"
        let (running, terms) = try group(for: event)
        var subscription = running
        guard count > 0 else { throw .impossible(event, because: "\(count) is no number of seats") }
        guard !subscription.hasCopies else { throw .impossible(event, because: "the period has several transactionIds") }
        // A period that was charged early cannot get seats before it begins: purchase dates never go back.
        advance(to: subscription.current.purchaseDate)
        let first = subscription.parts[0]
        guard let price = first.seats?.tiers.first?.price else { throw .impossible(event, because: "its transaction has no seats") }
        let seats = subscription.parts.reduce(0) { $0 + $1.quantity }
        subscription.changePeriod(of: first) { $0.hasSeatAddition = true }
        var addition = first
        addition.hasSeatAddition = true
        addition.transactionID = identifiers.nextTransactionID(using: &generator)
        if !terms.addsToLineItem { addition.webOrderLineItemID = identifiers.nextLineItemID(using: &generator) }
        (addition.purchaseDate, addition.reason, addition.revocation) = (thisSecond, .purchase, nil)
        addition.appAccountToken = subscription.appAccountToken
        addition.cover(count, of: terms, at: price, after: seats)
        subscription.transactions.append(addition)
        subscription.terms.seats?.quantity += count
        self.subscription = subscription
        return notification(.didChangeRenewalPref, .increaseQuantity, about: addition)
    }

    /// DID_CHANGE_RENEWAL_PREF with DECREASE_QUANTITY: the next period has fewer seats. With INCREASE_QUANTITY, if a reduction is undone, all
    /// or in part. Both take effect at the renewal (appstoreservernotifications/renewalquantity).
    package mutating func changeRenewalSeats(to count: Int32) throws(SimulationError) -> SimulatedNotification {
        let event = "DID_CHANGE_RENEWAL_PREF"
        let (running, terms) = try group(for: event)
        var subscription = running
        guard subscription.autoRenews else { throw .impossible(event, because: "automatic renewal is off") }
        guard count > 0, count != terms.quantity else { throw .impossible(event, because: "the renewal cannot change to \(count) seats") }
        let seats = subscription.parts.reduce(0) { $0 + $1.quantity }
        guard count <= seats else { throw .impossible(event, because: "the period has only \(seats) seats: they have to be added") }
        subscription.terms.seats?.quantity = count
        self.subscription = subscription
        return notification(
            .didChangeRenewalPref,
            count > terms.quantity ? .increaseQuantity : .decreaseQuantity,
            about: subscription.current
        )
    }

    /// REFUND with SEATS: some seats of a transaction are refunded, by default of the current one. It remains valid for the others: it gets a
    /// number of revoked seats and no date of revocation (appstoreserverapi/revokedseatquantity).
    package mutating func refundSeats(_ count: Int32, of transactionID: String? = nil) throws(SimulationError) -> SimulatedNotification {
        let event = "REFUND/SEATS"
        let subscription = try contract(for: event)
        let found = transactionID.map { id in subscription.transactions.first { $0.transactionID == id } } ?? subscription.current
        guard let found, var seats = found.seats, ownership == .purchased else {
            throw .impossible(event, because: "it is no purchase of seats")
        }
        guard found.revocation == nil, !found.isUpgraded else { throw .impossible(event, because: "it is refunded already") }
        guard count > 0, count < found.seatsLeft else {
            throw .impossible(event, because: "\(count) of \(found.seatsLeft) seats are none, or all of them, which is a REFUND")
        }
        seats.revoked = (seats.revoked ?? 0) + count
        self.subscription?.changePurchase(of: found) { $0.seats = seats }
        return notification(.refund, .seats, about: transaction(found.transactionID) ?? found)
    }

    /// UNCLAIM_SEATS: the store gave back seats that the app's server had claimed for members (appstoreservernotifications/unclaiminfo). Only
    /// for groups whose invitations the developer hosts.
    ///
    /// - Parameter hasData: whether `data` names the app and describes the purchase. Otherwise `unclaimInfo` names the app itself. Apple's
    ///   page is known without its example, which would show it.
    package mutating func unclaimSeats(_ count: Int = 1, hasData: Bool = true) throws(SimulationError) -> SimulatedNotification {
        let (subscription, terms) = try group(for: "UNCLAIM_SEATS")
        guard terms.invitations == .developer else { throw .impossible("UNCLAIM_SEATS", because: "Apple hosts the invitations") }
        guard count > 0 else { throw .impossible("UNCLAIM_SEATS", because: "\(count) is no number of seats") }
        let seats = UnclaimedSeats(seatClaimIDs: (0..<count).map { _ in additionsGenerator.uuid() })
        var notification = self.notification(.unclaimSeats, about: subscription.current)
        notification.content = .unclaimInfo(seats, hasData ? notification.state : nil)
        return notification
    }

    /// Makes an Apple ID that has bought nothing a member of a group or an organization.
    package mutating func takeSeat(_ assignment: SeatAssignment) throws(SimulationError) {
        guard hasNoPurchases else { throw .impossible("an assignment", because: "the customer has purchases") }
        ownership = .assigned
        self.assignment = assignment
        // Only subscriptions have seats.
        catalogue.oneTimeProducts = []
    }

    /// Gives an Apple ID that has bought nothing another ownership, such as one that Apple may add.
    package mutating func own(as ownership: InAppOwnershipType) throws(SimulationError) {
        guard hasNoPurchases else { throw .impossible("another ownership", because: "the customer has purchases") }
        self.ownership = ownership
    }

    var hasNoPurchases: Bool { subscription == nil && oneTimeCharges.isEmpty }

    /// The running subscription and its seats, for an event of a group's purchaser.
    private func group(for event: String) throws(SimulationError) -> (SimulatedSubscription, SeatTerms) {
        let subscription = try activeContract(for: event)
        guard ownership == .purchased, let terms = subscription.terms.seats, subscription.current.seats != nil else {
            throw .impossible(event, because: "the subscription has no seats")
        }
        return (subscription, terms)
    }
}

extension SimulatedTransaction {
    /// The seats that are not refunded.
    package var seatsLeft: Int32 { revocation == nil ? quantity - (seats?.revoked ?? 0) : 0 }
}
