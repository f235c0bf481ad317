/// The kind of a product.
package struct ProductType: OpenValue {
    package let rawValue: String

    package init(rawValue: String) {
        self.rawValue = rawValue
    }

    package static let autoRenewableSubscription = ProductType(rawValue: "Auto-Renewable Subscription")
    package static let nonConsumable = ProductType(rawValue: "Non-Consumable")
    package static let consumable = ProductType(rawValue: "Consumable")
    package static let nonRenewingSubscription = ProductType(rawValue: "Non-Renewing Subscription")

    package static let known: Set = [autoRenewableSubscription, nonConsumable, consumable, nonRenewingSubscription]

    /// Whether it is an auto-renewable subscription; nil for a type that this version does not know, whose charge says so by other members.
    package var isSubscription: Bool? { isKnown ? self == .autoRenewableSubscription : nil }
}
