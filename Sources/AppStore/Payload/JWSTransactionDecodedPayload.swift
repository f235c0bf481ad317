package import FoundationEssentials
package import StrictJSON

/// One transaction: a charge, or the share in one of a member of the family or group.
package struct JWSTransactionDecodedPayload: PayloadObject {
    /// The transaction of the first purchase; identifies the contract of a subscription.
    package let originalTransactionId: String?
    package let transactionId: String?
    /// Identifies one period of a subscription; several transactions can share it.
    package let webOrderLineItemId: String?
    package let bundleId: String?
    package let productId: String?
    package let subscriptionGroupIdentifier: String?
    /// The start of this period; a renewal is charged and signed before it.
    package let purchaseDate: Timestamp?
    package let originalPurchaseDate: Timestamp?
    /// The end of this period; subscriptions only.
    package let expiresDate: Timestamp?
    package let quantity: Int32?
    package let type: ProductType?
    /// The UUID that the app set at the purchase; renewals repeat the first one. `nil` for text that is not a UUID.
    package let appAccountToken: UUID?
    /// The text of `appAccountToken`, UUID or not.
    package let appAccountTokenText: String?
    package let inAppOwnershipType: InAppOwnershipType?
    package let signedDate: Timestamp?
    package let revocationReason: RevocationReason?
    /// The date of the refund or revocation; absent again after a reversal.
    package let revocationDate: Timestamp?
    package let isUpgraded: Bool?
    package let offerType: OfferType?
    package let offerIdentifier: String?
    package let environment: AppStoreEnvironment?
    /// ISO 3166-1 alpha-3.
    package let storefront: String?
    package let storefrontId: String?
    package let transactionReason: TransactionReason?
    /// ISO 4217.
    package let currency: String?
    /// In thousandths of the currency's unit.
    package let price: Int64?
    package let offerDiscountType: OfferDiscountType?
    /// One download of the app by one Apple Account.
    package let appTransactionId: String?
    /// ISO 8601 duration.
    package let offerPeriod: String?
    package let revocationType: RevocationType?
    /// In thousandths of a percent: 100000 is the whole price.
    package let revocationPercentage: Int32?
    package let billingPlanType: BillingPlanType?
    /// Only for monthly payments of a commitment.
    package let commitmentInfo: TransactionCommitmentInfo?
    /// Only for subscriptions with several seats, of which `quantity` is the number and `price` the average price.
    package let multiSeatInfo: TransactionMultiSeatInfo?
    /// `nil` when this transaction alone represents its period.
    package let additionalTransactionReason: AdditionalTransactionReason?
    /// The contract that a migration to Advanced Commerce replaced by this one; notifications only.
    package let previousOriginalTransactionId: String?
    /// Whether it was bought through the Advanced Commerce API. The content of `advancedCommerceInfo` is not decoded.
    package let isAdvancedCommerce: Bool
    package let odd: [MalformedPayload]
    package let unknown: [UnknownValue]

    package enum Member: String, CaseIterable {
        case originalTransactionId, transactionId, webOrderLineItemId, bundleId, productId
        case subscriptionGroupIdentifier, purchaseDate, originalPurchaseDate, expiresDate, quantity, type
        case appAccountToken, inAppOwnershipType, signedDate, revocationReason, revocationDate, isUpgraded, offerType
        case offerIdentifier, environment, storefront, storefrontId, transactionReason, currency, price
        case offerDiscountType, appTransactionId, offerPeriod, revocationType, revocationPercentage
        case billingPlanType, commitmentInfo, multiSeatInfo, additionalTransactionReason, previousOriginalTransactionId
    }

    package init(decoding json: JSONObject) {
        var members = MemberReader<Member>(json)
        originalTransactionId = members.identifier(.originalTransactionId)
        transactionId = members.identifier(.transactionId)
        webOrderLineItemId = members.identifier(.webOrderLineItemId)
        bundleId = members.string(.bundleId)
        productId = members.string(.productId)
        subscriptionGroupIdentifier = members.identifier(.subscriptionGroupIdentifier)
        purchaseDate = members.timestamp(.purchaseDate)
        originalPurchaseDate = members.timestamp(.originalPurchaseDate)
        expiresDate = members.timestamp(.expiresDate)
        quantity = members.integer32(.quantity)
        type = members.value(.type)
        appAccountTokenText = members.string(.appAccountToken)
        appAccountToken = appAccountTokenText.flatMap { UUID(uuidString: $0) }
        inAppOwnershipType = members.value(.inAppOwnershipType)
        signedDate = members.timestamp(.signedDate)
        revocationReason = members.value(.revocationReason)
        revocationDate = members.timestamp(.revocationDate)
        isUpgraded = members.bool(.isUpgraded)
        offerType = members.value(.offerType)
        offerIdentifier = members.string(.offerIdentifier)
        environment = members.value(.environment)
        storefront = members.string(.storefront)
        storefrontId = members.identifier(.storefrontId)
        transactionReason = members.value(.transactionReason)
        currency = members.string(.currency)
        price = members.integer(.price)
        offerDiscountType = members.value(.offerDiscountType)
        appTransactionId = members.identifier(.appTransactionId)
        offerPeriod = members.string(.offerPeriod)
        revocationType = members.value(.revocationType)
        revocationPercentage = members.integer32(.revocationPercentage)
        billingPlanType = members.value(.billingPlanType)
        commitmentInfo = members.object(.commitmentInfo)
        multiSeatInfo = members.object(.multiSeatInfo)
        additionalTransactionReason = members.value(.additionalTransactionReason)
        previousOriginalTransactionId = members.identifier(.previousOriginalTransactionId)
        isAdvancedCommerce = (json["advancedCommerceInfo"] ?? .null) != .null
        odd = members.odd
        unknown = members.unknown
    }
}

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

/// Whether the customer bought the product, or has it through Family Sharing or a group.
package struct InAppOwnershipType: OpenValue {
    package let rawValue: String

    package init(rawValue: String) {
        self.rawValue = rawValue
    }

    package static let purchased = InAppOwnershipType(rawValue: "PURCHASED")
    package static let familyShared = InAppOwnershipType(rawValue: "FAMILY_SHARED")
    /// A seat that the purchaser of a group or organization pays for.
    package static let assigned = InAppOwnershipType(rawValue: "ASSIGNED")

    package static let known: Set = [purchased, familyShared, assigned]

    /// Whether the customer paid; a value that this version does not know says nothing of money.
    package var isPurchase: Bool { self == .purchased }
}

/// Whether the charge is a purchase or an automatic renewal.
package struct TransactionReason: OpenValue {
    package let rawValue: String

    package init(rawValue: String) {
        self.rawValue = rawValue
    }

    package static let purchase = TransactionReason(rawValue: "PURCHASE")
    package static let renewal = TransactionReason(rawValue: "RENEWAL")

    package static let known: Set = [purchase, renewal]
}

/// Why more than one transaction represents a subscription period.
package struct AdditionalTransactionReason: OpenValue {
    package let rawValue: String

    package init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// The purchaser added seats within the period. The transaction of before the addition has this reason, too.
    package static let seatAddition = AdditionalTransactionReason(rawValue: "SEAT_ADDITION")

    package static let known: Set = [seatAddition]
}

/// The kind of an offer.
package struct OfferType: OpenValue {
    package let rawValue: Int32

    package init(rawValue: Int32) {
        self.rawValue = rawValue
    }

    package static let introductoryOffer = OfferType(rawValue: 1)
    package static let promotionalOffer = OfferType(rawValue: 2)
    package static let offerCode = OfferType(rawValue: 3)
    package static let winBackOffer = OfferType(rawValue: 4)
    /// For a customer who is about to cancel. No page of Apple's shows the number; a session of WWDC26 does.
    package static let retentionOffer = OfferType(rawValue: 5)

    package static let known: Set = [introductoryOffer, promotionalOffer, offerCode, winBackOffer, retentionOffer]
}

/// The payment mode of an offer.
package struct OfferDiscountType: OpenValue {
    package let rawValue: String

    package init(rawValue: String) {
        self.rawValue = rawValue
    }

    package static let freeTrial = OfferDiscountType(rawValue: "FREE_TRIAL")
    package static let payAsYouGo = OfferDiscountType(rawValue: "PAY_AS_YOU_GO")
    package static let payUpFront = OfferDiscountType(rawValue: "PAY_UP_FRONT")
    package static let oneTime = OfferDiscountType(rawValue: "ONE_TIME")

    package static let known: Set = [freeTrial, payAsYouGo, payUpFront, oneTime]
}

/// Why Apple refunded or revoked a transaction.
package struct RevocationReason: OpenValue {
    package let rawValue: Int32

    package init(rawValue: Int32) {
        self.rawValue = rawValue
    }

    package static let refundedForOtherReason = RevocationReason(rawValue: 0)
    /// Because of an actual or perceived issue with the app.
    package static let refundedDueToIssue = RevocationReason(rawValue: 1)

    package static let known: Set = [refundedForOtherReason, refundedDueToIssue]
}

/// The extent of a revocation.
package struct RevocationType: OpenValue {
    package let rawValue: String

    package init(rawValue: String) {
        self.rawValue = rawValue
    }

    package static let refundFull = RevocationType(rawValue: "REFUND_FULL")
    /// A partial refund; see `revocationPercentage`.
    package static let refundProrated = RevocationType(rawValue: "REFUND_PRORATED")
    /// Without a refund: the product is no longer shared.
    package static let familyRevoke = RevocationType(rawValue: "FAMILY_REVOKE")
    /// Without a refund: the seat is no longer assigned to this member.
    package static let assignmentRevoke = RevocationType(rawValue: "ASSIGNMENT_REVOKE")

    package static let known: Set = [refundFull, refundProrated, familyRevoke, assignmentRevoke]

    /// Whether money was given back; a value that this version does not know says nothing of money.
    package var isRefund: Bool { self == .refundFull || self == .refundProrated }
}

/// How the commitment of a subscription is billed.
package struct BillingPlanType: OpenValue {
    package let rawValue: String

    package init(rawValue: String) {
        self.rawValue = rawValue
    }

    package static let billedUpfront = BillingPlanType(rawValue: "BILLED_UPFRONT")
    package static let monthly = BillingPlanType(rawValue: "MONTHLY")

    package static let known: Set = [billedUpfront, monthly]
}

/// Where the period of a transaction stands in the commitment that is paid by the month; Apple's page
/// `appstoreserverapi/transactioncommitmentinfo`.
package struct TransactionCommitmentInfo: PayloadObject {
    /// The number of this period in the commitment, from 1 to ``totalBillingPeriods``.
    package let billingPeriodNumber: Int32?
    package let totalBillingPeriods: Int32?
    package let commitmentExpiresDate: Timestamp?
    /// In thousandths of the currency's unit. Apple does not say what it covers.
    package let commitmentPrice: Int64?
    package let odd: [MalformedPayload]

    package enum Member: String, CaseIterable {
        case billingPeriodNumber, totalBillingPeriods, commitmentExpiresDate, commitmentPrice
    }

    package init(decoding json: JSONObject) {
        var members = MemberReader<Member>(json)
        billingPeriodNumber = members.integer32(.billingPeriodNumber)
        totalBillingPeriods = members.integer32(.totalBillingPeriods)
        commitmentExpiresDate = members.timestamp(.commitmentExpiresDate)
        commitmentPrice = members.integer(.commitmentPrice)
        odd = members.odd
    }
}

/// The seats of a transaction for a subscription with several seats; Apple's page `appstoreserverapi/transactionmultiseatinfo`.
///
/// A member's transaction repeats that of the purchaser, without ``revokedSeatQuantity``.
package struct TransactionMultiSeatInfo: PayloadObject {
    package let invitationManagement: InvitationManagement?
    /// What the seats cost when they were bought, in no guaranteed order.
    package let priceTiers: [MultiSeatPriceTier]?
    /// The seats that refunds took from this transaction until now. The transaction is valid for the others.
    package let revokedSeatQuantity: Int32?
    /// What the seats cost together, in thousandths of the currency's unit; `nil` without tiers, or when one of them cannot be read.
    ///
    /// The `price` of the transaction is the average for one seat, rounded.
    package let total: Int64?
    package let odd: [MalformedPayload]
    package let unknown: [UnknownValue]

    package enum Member: String, CaseIterable {
        case invitationManagement, priceTiers, revokedSeatQuantity
    }

    package init(decoding json: JSONObject) {
        var members = MemberReader<Member>(json)
        invitationManagement = members.value(.invitationManagement)
        (priceTiers, total) = members.priceTiers(.priceTiers)
        revokedSeatQuantity = members.integer32(.revokedSeatQuantity)
        odd = members.odd
        unknown = members.unknown
    }
}

/// Who invites the members of a group.
package struct InvitationManagement: OpenValue {
    package let rawValue: String

    package init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// Apple: each member has a transaction.
    package static let apple = InvitationManagement(rawValue: "APPLE")
    /// The developer, whose server records who has access: members have no transactions.
    package static let developer = InvitationManagement(rawValue: "DEVELOPER")

    package static let known: Set = [apple, developer]
}

/// A number of seats and the price of each of them; Apple's page `appstoreserverapi/multiseatpricetier`.
package struct MultiSeatPriceTier: PayloadObject {
    /// For one seat, in thousandths of the currency's unit.
    package let price: Int64?
    /// The number of seats at this price.
    package let quantity: Int32?
    package let odd: [MalformedPayload]

    package enum Member: String, CaseIterable {
        case price, quantity
    }

    package init(decoding json: JSONObject) {
        var members = MemberReader<Member>(json)
        price = members.integer(.price)
        quantity = members.integer32(.quantity)
        odd = members.odd
    }

    /// The price of all its seats.
    fileprivate var total: (partialValue: Int64, overflow: Bool)? {
        guard let price, let quantity else { return nil }
        return price.multipliedReportingOverflow(by: Int64(quantity))
    }
}

extension MemberReader {
    /// The tiers, and what their seats cost together. A tier without price or quantity, or a sum that is no integer, is noted in ``odd``.
    ///
    /// - Returns: no total without tiers, or when one of them cannot be read: the sum of the others would be wrong.
    mutating func priceTiers(_ member: Member) -> (tiers: [MultiSeatPriceTier]?, total: Int64?) {
        let oddBefore = odd.count
        let tiers: [MultiSeatPriceTier]? = objects(member)
        guard let tiers, !tiers.isEmpty, odd.count == oddBefore else { return (tiers, nil) }
        var total: Int64 = 0
        for (index, tier) in tiers.enumerated() {
            guard let cost = tier.total else {
                note("\(member.rawValue)[\(index)]", "a price and a quantity")
                return (tiers, nil)
            }
            let (sum, overflow) = total.addingReportingOverflow(cost.partialValue)
            guard !overflow, !cost.overflow else {
                note(member.rawValue, "tiers whose total is a 64-bit integer")
                return (tiers, nil)
            }
            total = sum
        }
        return (tiers, total)
    }
}
