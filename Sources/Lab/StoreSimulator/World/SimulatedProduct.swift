package import AppStore

/// A product of the simulated app.
package struct SimulatedProduct: Hashable, Sendable {
    /// The product identifier.
    package var id: String
    package var type: ProductType
    /// In thousandths of the storefront's currency unit.
    package var price: Int64
    /// The period that a payment covers; nil unless the product is an auto-renewable subscription.
    package var period: SubscriptionPeriod?
    /// The subscription group; a customer has at most one subscription of a group.
    package var subscriptionGroupID: String?
    /// The level of service within the group: 1 is the highest, as in App Store Connect.
    package var level: Int

    /// Whether it renews, also if its type is an unknown one.
    package var isSubscription: Bool { period != nil }

    /// An auto-renewable subscription.
    package static func subscription(
        _ id: String,
        every period: SubscriptionPeriod = .months(1),
        price: Int64 = 9990,
        group: String = "21752814",
        level: Int = 1
    ) -> SimulatedProduct {
        SimulatedProduct(
            id: id,
            type: .autoRenewableSubscription,
            price: price,
            period: period,
            subscriptionGroupID: group,
            level: level
        )
    }

    /// A one-time product: `.consumable`, `.nonConsumable` or `.nonRenewingSubscription`.
    package static func oneTime(_ id: String, _ type: ProductType, price: Int64 = 990) -> SimulatedProduct {
        SimulatedProduct(id: id, type: type, price: price, period: nil, subscriptionGroupID: nil, level: 1)
    }
}
