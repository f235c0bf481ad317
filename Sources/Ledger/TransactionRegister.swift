package import AppStore
package import FoundationEssentials

/// Everything known about a charge: a join, so that neither order nor repetition of facts changes it.
///
/// It has two halves: facts from JWS and facts from receipts. Constants come from the JWS half if there is one. Expiry, revocation and
/// upgrade come from the later half; on a tie, from the JWS half. A ``LastingMember`` that the newest JWS lacks comes from the newest one
/// that has it.
package struct TransactionRegister: Sendable {
    /// The JWS fact of the highest version, as a whole: a reversal must clear the earlier revocation.
    package private(set) var signed: TransactionFact?
    /// For each lasting member that the JWS fact lacks, the one of the highest version that has it.
    package private(set) var lasting: [LastingMember: TransactionFact] = [:]
    package private(set) var receipt: ReceiptHalf?
    /// The lowest date of any fact, in either half.
    package private(set) var firstSignedDate: Timestamp
    /// The appAccountToken of the oldest fact with one, in either half: the order that the charge may pay. A later token does not pay a
    /// second order.
    package private(set) var firstToken: FirstToken?

    /// An appAccountToken and the version of the fact that first had it.
    package struct FirstToken: Hashable, Sendable {
        package let token: UUID
        package let version: Version

        fileprivate init?(_ token: UUID?, version: Version) {
            guard let order = OrderNumber.named(by: token) else { return nil }
            self.token = order
            self.version = version
        }
    }

    package init(_ fact: TransactionFact) {
        signed = fact
        firstSignedDate = fact.version.signedDate
        firstToken = FirstToken(fact.payload.appAccountToken, version: fact.version)
    }

    package init(_ fact: ReceiptFact) {
        receipt = ReceiptHalf(fact)
        firstSignedDate = fact.version.signedDate
        firstToken = FirstToken(fact.content.appAccountToken, version: fact.version)
    }

    /// Adds the facts of another register of the same charge.
    package mutating func join(_ other: TransactionRegister) {
        if let fact = other.signed { join(fact, other.lasting) }
        if let half = other.receipt {
            if receipt == nil { receipt = half } else { receipt?.join(half) }
        }
        firstSignedDate = min(firstSignedDate, other.firstSignedDate)
        switch (firstToken, other.firstToken) {
        case (let own?, let token?) where token.version < own.version: firstToken = token
        case (nil, let token): firstToken = token
        default: break
        }
    }

    private mutating func join(_ fact: TransactionFact, _ others: [LastingMember: TransactionFact]) {
        guard let own = signed else {
            (signed, lasting) = (fact, others)
            return
        }
        let (older, newest) = own.version < fact.version ? (own, fact) : (fact, own)
        let known = lasting
        (signed, lasting) = (newest, [:])
        for member in LastingMember.allCases where !member.isIn(newest.payload) {
            let facts = [known[member], others[member], member.isIn(older.payload) ? older : nil].compactMap(\.self)
            lasting[member] = facts.max { $0.version < $1.version }
        }
    }

    /// The type that a JWS has, else one that a receipt has.
    package var productType: ProductType? { signedType ?? receipt?.productType }

    /// The type that a JWS has.
    var signedType: ProductType? { signed?.payload.type ?? lasting[.productType]?.payload.type }

    /// Whether it is a period of an auto-renewable subscription: the type says so or, as long as no type is known, other members.
    package var isSubscription: Bool {
        productType?.isSubscription ?? signed?.isSubscription ?? receipt?.isSubscription ?? false
    }

    /// The number of the purchase, by the type that is known; like all constants from the JWS half if there is one.
    package var periodNumber: UUID? {
        let charge: (any Charge)? = signed ?? receipt?.latest
        return charge?.periodNumber(isSubscription: isSubscription, isConsumable: productType == .consumable)
    }

    /// Whether expiry, revocation and upgrade come from the receipt half; else they come from the JWS half.
    package var isStatedByReceipt: Bool {
        guard let receipt else { return false }
        return signed.map { $0.version.signedDate < receipt.latest.version.signedDate } ?? true
    }
}

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

/// A member of a transaction that cannot change: a newer JWS without it does not erase what is known. The raw value is its column.
package enum LastingMember: String, CaseIterable, Sendable {
    case productType = "product_type"
    case inAppOwnershipType = "in_app_ownership_type"
    case subscriptionGroupIdentifier = "subscription_group_identifier"
    case quantity
    case originalPurchaseDate = "original_purchase_date"
    case price
    case currency
    case storefront
    case storefrontID = "storefront_id"
    case transactionReason = "transaction_reason"
    case offerType = "offer_type"
    case offerIdentifier = "offer_identifier"
    case offerDiscountType = "offer_discount_type"
    case offerPeriod = "offer_period"
    case appTransactionID = "app_transaction_id"
    case previousOriginalTransactionID = "previous_original_transaction_id"

    package func isIn(_ payload: JWSTransactionDecodedPayload) -> Bool {
        switch self {
        case .productType: payload.type != nil
        case .inAppOwnershipType: payload.inAppOwnershipType != nil
        case .subscriptionGroupIdentifier: payload.subscriptionGroupIdentifier != nil
        case .quantity: payload.quantity != nil
        case .originalPurchaseDate: payload.originalPurchaseDate != nil
        case .price: payload.price != nil || payload.multiSeatInfo?.total != nil
        case .currency: payload.currency != nil
        case .storefront: payload.storefront != nil
        case .storefrontID: payload.storefrontId != nil
        case .transactionReason: payload.transactionReason != nil
        case .offerType: payload.offerType != nil
        case .offerIdentifier: payload.offerIdentifier != nil
        case .offerDiscountType: payload.offerDiscountType != nil
        case .offerPeriod: payload.offerPeriod != nil
        case .appTransactionID: payload.appTransactionId != nil
        case .previousOriginalTransactionID: payload.previousOriginalTransactionId != nil
        }
    }

    /// Whether receipts say it; false for members for which receipts do not count beside a JWS.
    package func isIn(_ receipts: ReceiptHalf) -> Bool {
        switch self {
        case .productType: receipts.productType != nil
        case .inAppOwnershipType: receipts.inAppOwnershipType != nil
        case .subscriptionGroupIdentifier: receipts.subscriptionGroupIdentifier != nil
        case .quantity: receipts.latest.content.quantity != nil
        case .originalPurchaseDate: receipts.latest.content.originalPurchaseDate != nil
        case .price, .currency, .storefront, .storefrontID, .transactionReason, .offerType, .offerIdentifier, .offerDiscountType,
            .offerPeriod, .appTransactionID, .previousOriginalTransactionID:
            false
        }
    }
}
