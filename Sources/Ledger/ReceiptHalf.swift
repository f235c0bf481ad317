package import AppStore

/// What receipts say about a charge: the newest fact as a whole, and the constants that only some forms of a receipt have. A newer receipt
/// of another form does not erase these constants.
package struct ReceiptHalf: Sendable {
    package private(set) var latest: ReceiptFact
    /// The bytewise greatest value of all facts, so that the join is commutative.
    package private(set) var productType: ProductType?
    package private(set) var inAppOwnershipType: InAppOwnershipType?
    package private(set) var subscriptionGroupIdentifier: String?
    /// Whether any fact says that the charge belongs to a contract. It counts only as long as no type is known.
    package private(set) var isSubscription: Bool

    package init(_ fact: ReceiptFact) {
        latest = fact
        productType = fact.content.productType
        inAppOwnershipType = fact.content.inAppOwnershipType
        subscriptionGroupIdentifier = fact.content.subscriptionGroupIdentifier
        isSubscription = fact.isSubscription
    }

    package mutating func join(_ other: ReceiptHalf) {
        if latest.version < other.latest.version { latest = other.latest }
        productType = Self.greater(productType?.rawValue, other.productType?.rawValue).map(ProductType.init)
        inAppOwnershipType =
            Self.greater(inAppOwnershipType?.rawValue, other.inAppOwnershipType?.rawValue).map(InAppOwnershipType.init)
        subscriptionGroupIdentifier = Self.greater(subscriptionGroupIdentifier, other.subscriptionGroupIdentifier)
        isSubscription = isSubscription || other.isSubscription
    }

    /// Like PostgreSQL's `greatest(… COLLATE "C")`.
    static func greater(_ left: String?, _ right: String?) -> String? {
        guard let left, let right else { return left ?? right }
        return left.utf8.lexicographicallyPrecedes(right.utf8) ? right : left
    }
}
