package import AppStore

/// A discount on one or more periods of a subscription.
package struct SimulatedOffer: Hashable, Sendable {
    package var type: OfferType
    /// The offer's identifier; introductory offers have none.
    package var identifier: String?
    package var discountType: OfferDiscountType
    /// The length of each discounted period.
    package var period: SubscriptionPeriod
    /// The price of each discounted period, in thousandths of the currency unit.
    package var price: Int64
    /// The number of discounted periods.
    package var periodCount: Int

    package init(
        type: OfferType,
        identifier: String? = nil,
        discountType: OfferDiscountType,
        period: SubscriptionPeriod,
        price: Int64,
        periodCount: Int = 1
    ) {
        self.type = type
        self.identifier = identifier
        self.discountType = discountType
        self.period = period
        self.price = price
        self.periodCount = periodCount
    }

    /// A free first week.
    package static let freeWeek = SimulatedOffer(type: .introductoryOffer, discountType: .freeTrial, period: .weeks(1), price: 0)
    /// Three months at a lower price by an offer code.
    package static let codeForThreeMonths = SimulatedOffer(
        type: .offerCode,
        identifier: "LAUNCH3",
        discountType: .payAsYouGo,
        period: .months(1),
        price: 1990,
        periodCount: 3
    )
    /// One month at a lower price for a customer who is about to cancel (WWDC26, session 309).
    package static let retention = SimulatedOffer(
        type: .retentionOffer,
        identifier: "stay",
        discountType: .payUpFront,
        period: .months(1),
        price: 490
    )
    /// One month at a lower price for former customers.
    package static let winBack = SimulatedOffer(
        type: .winBackOffer,
        identifier: "comeback",
        discountType: .payUpFront,
        period: .months(1),
        price: 990
    )
}
