package import AppStore
package import FoundationEssentials
package import StrictJSON

/// Something that happened to a customer; recorded once, however often it is delivered.
package struct Effect: Sendable {
    package let key: EffectKey
    /// When it happened according to Apple, not when the event came in.
    package let occurredAt: Timestamp
    package let originalTransactionID: String?
    package let transactionID: String?
    package let productID: String?
    /// The app whose shared secret is the only proof; nil when Apple's signature or TLS proves it.
    package let vouchedBundleID: String?
    /// The end of the grace period that the effect tells of.
    package let gracePeriodExpiresDate: Timestamp?
    /// The app; nil when the effect's transaction names it.
    package let bundleID: String?
    /// What only the effect says: identifiers, dates and counts, without nulls. Never a user: appstore.forget does not look there.
    package let details: JSONObject?

    package init(
        key: EffectKey,
        occurredAt: Timestamp,
        originalTransactionID: String?,
        transactionID: String?,
        productID: String?,
        vouchedBundleID: String? = nil,
        gracePeriodExpiresDate: Timestamp? = nil,
        bundleID: String? = nil,
        details: JSONObject? = nil
    ) {
        self.key = key
        self.occurredAt = occurredAt
        self.originalTransactionID = originalTransactionID
        self.transactionID = transactionID
        self.productID = productID
        self.vouchedBundleID = vouchedBundleID
        self.gracePeriodExpiresDate = gracePeriodExpiresDate
        self.bundleID = bundleID
        self.details = details
    }
}

/// The identity of an effect.
package struct EffectKey: Hashable, Comparable, Sendable {
    package let environment: AppStoreEnvironment
    package let kind: EffectKind
    /// For a grant: the purchase (``Charge/purchase``). For a refund: the purchase and its revocationDate, instead of which the merge gives it
    /// a number. For a revocation: the transaction and its date. For seats: the transaction and how many of its seats were refunded. For a
    /// found status: contract, status and period. For all others: the notificationUUID in lower case.
    package let subject: String

    package init(environment: AppStoreEnvironment, kind: EffectKind, subject: String) {
        self.environment = environment
        self.kind = kind
        self.subject = subject
    }

    package init(environment: AppStoreEnvironment, kind: EffectKind, notification uuid: UUID) {
        self.init(environment: environment, kind: kind, subject: uuid.uuidString.lowercased())
    }

    package static func < (left: EffectKey, right: EffectKey) -> Bool {
        (left.environment.rawValue, left.kind.rawValue, left.subject) < (right.environment.rawValue, right.kind.rawValue, right.subject)
    }
}

/// The kind of an effect.
package struct EffectKind: RawRepresentable, Hashable, Sendable {
    package let rawValue: String

    package init(rawValue: String) {
        self.rawValue = rawValue
    }

    private init(_ rawValue: String) {
        self.rawValue = rawValue
    }

    /// A paid or shared period or product was granted.
    package static let granted = EffectKind("granted")
    /// A purchase was refunded.
    package static let refunded = EffectKind("refunded")
    /// Seats of a group were refunded; the others stay.
    package static let seatsRefunded = EffectKind("seats_refunded")
    /// Access to a purchase ended and no money was given back: it is no longer shared or assigned.
    package static let revoked = EffectKind("revoked")

    package static let willRenew = EffectKind("will_renew")
    package static let willNotRenew = EffectKind("will_not_renew")
    package static let planChanged = EffectKind("plan_changed")
    package static let offerRedeemed = EffectKind("offer_redeemed")
    package static let billingRetryStarted = EffectKind("billing_retry_started")
    package static let gracePeriodStarted = EffectKind("grace_period_started")
    package static let gracePeriodEnded = EffectKind("grace_period_ended")
    package static let expired = EffectKind("expired")
    package static let extended = EffectKind("extended")
    package static let consentAsked = EffectKind("consent_asked")
    package static let consentGiven = EffectKind("consent_given")
    package static let consumptionAsked = EffectKind("consumption_asked")
    package static let refundDeclined = EffectKind("refund_declined")
    package static let refundReversed = EffectKind("refund_reversed")
    /// Apple's answer to a question said that a subscription has ended, is not paid or was revoked, and no notification had.
    package static let statusFound = EffectKind("status_found")

    /// Apple took back seats that the developer's server had claimed for members of a group.
    package static let seatsUnclaimed = EffectKind("seats_unclaimed")
    /// The purchaser of a group added seats, or chose how many will renew.
    package static let seatsChanged = EffectKind("seats_changed")
    /// A parent took back the consent to the app's use.
    package static let consentRescinded = EffectKind("consent_rescinded")
    /// A token for purchases outside the App Store was created, or has to be reported.
    package static let externalPurchaseToken = EffectKind("external_purchase_token")
    package static let priceChanged = EffectKind("price_changed")
    package static let metadataUpdated = EffectKind("metadata_updated")
    /// A subscription moved to the Advanced Commerce API.
    package static let migrated = EffectKind("migrated")
    /// A request to extend many subscriptions is done.
    package static let extensionCompleted = EffectKind("extension_completed")
    /// One of many subscriptions could not be extended.
    package static let extensionFailed = EffectKind("extension_failed")
}
