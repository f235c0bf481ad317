package import StrictJSON

/// A notification V1, in the format of any year; the `password` is never decoded.
///
/// Only the receipts in it are signed. Unused members (`cancellation_date`, `web_order_line_item_id`, the unified receipt's `status`) are not
/// decoded, so that they cannot make a notification unreadable.
package struct ResponseBodyV1: PayloadObject {
    package let notificationType: NotificationTypeV1?
    /// The body's own member; ``environment`` falls back to the unified receipt.
    package let declaredEnvironment: AppStoreEnvironment?
    /// `bid`.
    package let bundleID: String?
    /// The app whose shared secret authenticates the body, as in ``NotificationV1Body/bundleID``. Nil when the body names no app; then the
    /// secret of any app was accepted.
    package let vouchedBundleID: String?
    /// Usually absent: the parts name the contracts.
    package let originalTransactionID: String?
    package let autoRenewProductID: String?
    package let autoRenewStatus: AutoRenewStatus?
    package let autoRenewStatusChangeDate: Timestamp?
    package let isInBillingRetryPeriod: Bool?
    package let expirationIntent: ExpirationIntent?
    package let gracePeriodExpiresDate: Timestamp?
    package let priceConsentStatus: PriceIncreaseStatus?
    /// Since 2019.
    package let unifiedReceipt: UnifiedReceipt?
    /// In base64: an app receipt or, in older notifications, a transaction receipt. Until 2021 in addition to the unified receipt.
    package let latestReceipt: String?
    package let latestReceiptInfo: [ReceiptTransaction]
    package let latestExpiredReceipt: String?
    package let latestExpiredReceiptInfo: [ReceiptTransaction]
    package let odd: [MalformedPayload]

    package enum Member: String, CaseIterable {
        case notificationType = "notification_type"
        case environment
        case bundleID = "bid"
        case originalTransactionID = "original_transaction_id"
        case autoRenewProductID = "auto_renew_product_id"
        case autoRenewStatus = "auto_renew_status"
        case autoRenewStatusChangeDate = "auto_renew_status_change_date"
        case isInBillingRetryPeriod = "is_in_billing_retry_period"
        case expirationIntent = "expiration_intent"
        case gracePeriodExpiresDate = "grace_period_expires_date"
        case priceConsentStatus = "price_consent_status"
        case unifiedReceipt = "unified_receipt"
        case latestReceipt = "latest_receipt"
        case latestReceiptInfo = "latest_receipt_info"
        case latestExpiredReceipt = "latest_expired_receipt"
        case latestExpiredReceiptInfo = "latest_expired_receipt_info"
    }

    package init(decoding json: JSONObject) {
        var members = LooseMembers<Member>(json)
        notificationType = members.value(.notificationType)
        declaredEnvironment = members.text(.environment).map(AppStoreEnvironment.init(legacy:))
        bundleID = members.name(.bundleID)
        vouchedBundleID = Self.vouchedBundleID(in: json)
        originalTransactionID = members.text(.originalTransactionID)
        autoRenewProductID = members.text(.autoRenewProductID)
        autoRenewStatus = members.flag(.autoRenewStatus).map { $0 ? .on : .off }
        autoRenewStatusChangeDate = members.date(.autoRenewStatusChangeDate)
        isInBillingRetryPeriod = members.flag(.isInBillingRetryPeriod)
        expirationIntent = members.value(.expirationIntent)
        gracePeriodExpiresDate = members.date(.gracePeriodExpiresDate)
        priceConsentStatus = members.value(.priceConsentStatus)
        unifiedReceipt = members.object(.unifiedReceipt)
        latestReceipt = members.text(.latestReceipt)
        latestReceiptInfo = members.objects(.latestReceiptInfo)
        latestExpiredReceipt = members.text(.latestExpiredReceipt)
        latestExpiredReceiptInfo = members.objects(.latestExpiredReceiptInfo)
        odd = members.odd
    }
}

extension ResponseBodyV1 {
    /// The environment of the body, otherwise of the unified receipt.
    package var environment: AppStoreEnvironment? { declaredEnvironment ?? unifiedReceipt?.environment }

    /// `bid`, otherwise that of the first purchase outside the unified receipt, where it was until 2019.
    private static func vouchedBundleID(in json: JSONObject) -> String? {
        func named(_ object: JSONObject) -> String? {
            guard case .string(let text)? = object[Member.bundleID.rawValue], !text.isEmpty else { return nil }
            return text
        }
        let purchases = [Member.latestReceiptInfo.rawValue, Member.latestExpiredReceiptInfo.rawValue]
        return named(json)
            ?? json.members.lazy.compactMap { member in
                guard case .object(let purchase) = member.value, purchases.contains(member.name) else { return nil }
                return named(purchase)
            }.first
    }

    /// The newest receipt, in base64.
    package var receiptData: String? { unifiedReceipt?.latestReceipt ?? latestReceipt ?? latestExpiredReceipt }

    /// All readable transactions: those of the unified receipt if it has any, otherwise the outer ones. They are not signed.
    package var transactions: [ReceiptTransaction] {
        let unified = unifiedReceipt?.latestReceiptInfo ?? []
        return unified.isEmpty ? latestReceiptInfo + latestExpiredReceiptInfo : unified
    }

    /// The original transaction ids in all parts of the body, each once, in order.
    package var originalTransactionIDs: [String] {
        var seen: Set<String> = []
        let named =
            [originalTransactionID] + (unifiedReceipt?.pendingRenewalInfo ?? []).map(\.originalTransactionID)
            + transactions.map(\.originalTransactionID)
        return named.compactMap { $0 }.filter { seen.insert($0).inserted }
    }
}

/// `unified_receipt`: verifyReceipt's answer when the notification was created, with at most the latest hundred transactions.
package struct UnifiedReceipt: PayloadObject {
    package let environment: AppStoreEnvironment?
    /// In base64.
    package let latestReceipt: String?
    package let latestReceiptInfo: [ReceiptTransaction]
    package let pendingRenewalInfo: [PendingRenewalInfo]
    package let odd: [MalformedPayload]

    package enum Member: String, CaseIterable {
        case environment
        case latestReceipt = "latest_receipt"
        case latestReceiptInfo = "latest_receipt_info"
        case pendingRenewalInfo = "pending_renewal_info"
    }

    package init(decoding json: JSONObject) {
        var members = LooseMembers<Member>(json)
        environment = members.text(.environment).map(AppStoreEnvironment.init(legacy:))
        latestReceipt = members.text(.latestReceipt)
        latestReceiptInfo = members.objects(.latestReceiptInfo)
        pendingRenewalInfo = members.objects(.pendingRenewalInfo)
        odd = members.odd
    }
}

/// The event that a notification V1 reports.
package struct NotificationTypeV1: OpenValue {
    package let rawValue: String

    package init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// A subscription was bought for the first time.
    package static let initialBuy = NotificationTypeV1(rawValue: "INITIAL_BUY")
    /// A subscription renewed.
    package static let didRenew = NotificationTypeV1(rawValue: "DID_RENEW")
    /// A customer renewed manually, after an expiry or with another plan.
    package static let interactiveRenewal = NotificationTypeV1(rawValue: "INTERACTIVE_RENEWAL")
    /// A renewal that had failed was charged.
    package static let didRecover = NotificationTypeV1(rawValue: "DID_RECOVER")
    /// The name of ``didRecover`` until 2021.
    package static let renewal = NotificationTypeV1(rawValue: "RENEWAL")
    /// A renewal could not be charged.
    package static let didFailToRenew = NotificationTypeV1(rawValue: "DID_FAIL_TO_RENEW")
    /// Automatic renewal was turned on or off.
    package static let didChangeRenewalStatus = NotificationTypeV1(rawValue: "DID_CHANGE_RENEWAL_STATUS")
    /// The plan of the next renewal was changed.
    package static let didChangeRenewalPref = NotificationTypeV1(rawValue: "DID_CHANGE_RENEWAL_PREF")
    /// The customer was asked to consent to a price increase.
    package static let priceIncreaseConsent = NotificationTypeV1(rawValue: "PRICE_INCREASE_CONSENT")
    /// Apple support refunded a subscription, or an upgrade replaced it.
    package static let cancel = NotificationTypeV1(rawValue: "CANCEL")
    /// A transaction was refunded.
    package static let refund = NotificationTypeV1(rawValue: "REFUND")
    /// A family member lost access to a shared purchase.
    package static let revoke = NotificationTypeV1(rawValue: "REVOKE")
    /// A customer requests a refund of a consumable, and Apple requests consumption data within twelve hours.
    package static let consumptionRequest = NotificationTypeV1(rawValue: "CONSUMPTION_REQUEST")

    /// The types that Apple documents; other types are not invalid.
    package static let documented: [NotificationTypeV1] = [
        .initialBuy, .didRenew, .interactiveRenewal, .didRecover, .renewal, .didFailToRenew, .didChangeRenewalStatus,
        .didChangeRenewalPref, .priceIncreaseConsent, .cancel, .refund, .revoke, .consumptionRequest,
    ]

    package static let known = Set(documented)
}

/// A canonical form of JSON, to recognise repeated deliveries of a notification that has no id.
///
/// - No white space; escapes only where JSON requires them.
/// - Members ordered by the UTF-8 bytes of their names; array elements in source order.
/// - A 64-bit integer as its digits, whether written `1`, `1.0` or `1e0`; any other number as in the source.
///
/// Texts with the same canonical form are equivalent. Equivalent texts can differ in form only in numbers that are not 64-bit integers.
package enum CanonicalJSON {
    /// The canonical text of an object, without its outermost members of those names.
    package static func text(of object: JSONObject, omitting names: Set<String> = []) -> [UInt8] {
        let kept = object.members.filter { !names.contains($0.name) }
        return JSONSerializer.serialize(canonical(JSONObject(uniqueMembers: kept)))
    }

    /// The text whose digest identifies a notification V1: without the `password`, which may be rotated between two deliveries.
    package static func text(ofNotificationV1 object: JSONObject) -> [UInt8] { text(of: object, omitting: ["password"]) }

    private static func canonical(_ object: JSONObject) -> JSONObject {
        let members = object.members.map { JSONObject.Member(name: $0.name, value: canonical($0.value)) }
        return JSONObject(uniqueMembers: members.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) })
    }

    private static func canonical(_ value: JSONValue) -> JSONValue {
        switch value {
        case .object(let object): .object(canonical(object))
        case .array(let elements): .array(elements.map(canonical))
        case .number(let number): .number(number.int64.map { JSONNumber($0) } ?? number)
        case .null, .bool, .string: value
        }
    }
}
