package import AppStore

/// What a subscription's charges are for, beside one period of a product.
package struct PurchaseTerms: Hashable, Sendable {
    /// Nil unless the customer buys for a group.
    package var seats: SeatTerms?
    /// Nil unless the customer pays a commitment by the month.
    package var commitment: CommitmentTerms?

    package init(seats: SeatTerms? = nil, commitment: CommitmentTerms? = nil) {
        self.seats = seats
        self.commitment = commitment
    }
}

/// The seats of a group.
package struct SeatTerms: Hashable, Sendable {
    package var invitations: SimulatedSeats.Invitations
    /// The number of seats of the next period, `renewalQuantity`.
    package var quantity: Int32
    /// Whether each seat after the second costs a tenth less, so that the average price times the seats is not their total.
    package var hasTiers: Bool
    /// Whether seats that are added during a period have its webOrderLineItemId. Apple does not document whether they have it or their own.
    package var addsToLineItem: Bool

    private static let seatsAtFullPrice: Int32 = 2

    package init(
        _ quantity: Int32,
        _ invitations: SimulatedSeats.Invitations = .apple,
        hasTiers: Bool = true,
        addsToLineItem: Bool = false
    ) {
        self.quantity = quantity
        self.invitations = invitations
        self.hasTiers = hasTiers
        self.addsToLineItem = addsToLineItem
    }

    /// The tiers of a number of seats.
    /// - Parameters:
    ///   - price: the full price of a seat.
    ///   - seats: how many seats the group has already.
    func tiers(of count: Int32, at price: Int64, after seats: Int32 = 0) -> [SeatTier] {
        let full = hasTiers ? min(count, max(0, Self.seatsAtFullPrice - seats)) : count
        let tiers = [SeatTier(price: price, quantity: full), SeatTier(price: price - price / 10, quantity: count - full)]
        return tiers.filter { $0.quantity > 0 }
    }
}

/// A commitment of twelve months that is paid by the month.
package struct CommitmentTerms: Hashable, Sendable {
    /// The number of months of a commitment.
    package static let months: Int32 = 12

    /// Thousandths of the currency unit; the `price` of each month's transaction.
    package var monthlyPrice: Int64
    package var month: SubscriptionPeriod
    /// The number of the month that was paid last; 0 before the first.
    package internal(set) var number: Int32 = 0
    /// Whether another commitment follows, commitmentAutoRenewStatus. The other months are charged in either case.
    package internal(set) var renews = true
    /// A month's number and when it began. The ends of later months are counted from it, so that a short month shortens no other one.
    private var counted: Count?

    /// - Parameter month: the length of a month, so that a simulation can have months of equal lengths.
    package init(monthlyPrice: Int64, month: SubscriptionPeriod = .months(1)) {
        self.monthlyPrice = monthlyPrice
        self.month = month
    }

    var isInLastMonth: Bool { number == Self.months }
    var totalPrice: Int64 { monthlyPrice * Int64(Self.months) }

    /// Begins the next month, which is the first one of another commitment after the last one.
    mutating func beginMonth(at date: Timestamp) {
        let isOnTime = !isInLastMonth && end(ofMonth: number) == date
        number = number % Self.months + 1
        if !isOnTime { counted = Count(from: date, number: number) }
    }

    /// When a month of the running commitment ends; nil before the first.
    func end(ofMonth number: Int32) -> Timestamp? {
        counted.map { month.times(Int(number - $0.number + 1)).end(from: $0.from) }
    }

    private struct Count: Hashable, Sendable {
        var from: Timestamp
        var number: Int32
    }
}

/// The place of an Apple ID in a group or an organization that bought its seat: its transactions are ASSIGNED.
package struct SeatAssignment: Hashable, Sendable {
    /// The group's seats, which a member's transaction repeats (storekit/transaction/multiseatinfo-swift.property). Nil in an organization:
    /// it has no transaction to repeat, and Apple does not document seats in its members' transactions.
    package var seats: SeatTerms?
    /// Whether transactions repeat the purchaser's price. Apple documents it of quantity and seats only.
    package var repeatsPrice: Bool
    /// The purchaser's contract, if transactions name it instead of a contract of their own. Apple does not document which one they name.
    package var contract: Contract?
    /// When the group's period ends; nil if the member's own charges determine it.
    package var periodEnd: Timestamp?

    package struct Contract: Hashable, Sendable {
        package var originalTransactionID: String
        package var originalPurchaseDate: Timestamp
    }

    package init(seats: SeatTerms? = nil, repeatsPrice: Bool = false, contract: Contract? = nil, periodEnd: Timestamp? = nil) {
        (self.seats, self.repeatsPrice, self.contract, self.periodEnd) = (seats, repeatsPrice, contract, periodEnd)
    }
}

extension SimulatedTransaction {
    /// Makes it a purchase of seats.
    mutating func cover(_ count: Int32, of terms: SeatTerms, at price: Int64, after seats: Int32 = 0) {
        let tiers = terms.tiers(of: count, at: price, after: seats)
        quantity = count
        self.price = tiers.averagePrice
        self.seats = SimulatedSeats(invitations: terms.invitations, tiers: tiers)
    }

    /// Makes it the payment of a month of a commitment.
    mutating func pay(_ terms: CommitmentTerms) {
        expiresDate = terms.end(ofMonth: terms.number)
        commitment = SimulatedCommitment(
            number: terms.number,
            total: CommitmentTerms.months,
            expiresDate: terms.end(ofMonth: CommitmentTerms.months) ?? purchaseDate,
            price: terms.totalPrice
        )
    }

    /// Makes it the transaction of a member.
    mutating func assign(_ assignment: SeatAssignment) {
        if !assignment.repeatsPrice { price = nil }
        if let end = assignment.periodEnd, end > purchaseDate { expiresDate = end }
    }
}
