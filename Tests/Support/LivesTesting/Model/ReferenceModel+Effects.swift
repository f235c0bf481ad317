import AppStore
import StoreSimulator

/// The effects and the refund requests.
extension ReferenceModel {
    /// `environment kind subject` of each effect.
    func effects() -> Set<String> {
        var effects: Set<String> = []
        for charge in charges {
            for assertion in charge.assertions {
                let lineItem = assertion.saysSubscription ? assertion.text("webOrderLineItemId") : nil
                let period = lineItem.map { "\(charge.contract)/\($0)" }
                effects.insert("\(charge.environment) granted \(period ?? charge.id)")
                guard let date = assertion.number("revocationDate") else { continue }
                let kind = assertion.isOfFamily ? "revoked" : "refunded"
                // In whole seconds, as in receipts.
                effects.insert("\(charge.environment) \(kind) \(charge.id)/\(date / 1000 * 1000)")
            }
        }
        for notification in notifications {
            guard let kind = Self.lifecycle(notification.type.rawValue, notification.subtype?.rawValue) else { continue }
            effects.insert("\(notification.app.environment.rawValue) \(kind) \(notification.notificationUUID.text)")
        }
        for notification in legacyNotifications {
            guard let kind = notification.lifecycle else { continue }
            effects.insert("\(notification.app.environment.rawValue) \(kind) \(notification.name)")
        }
        return effects
    }

    private static func lifecycle(_ type: String, _ subtype: String?) -> String? {
        switch (type, subtype) {
        case ("DID_CHANGE_RENEWAL_STATUS", "AUTO_RENEW_ENABLED"): "will_renew"
        case ("DID_CHANGE_RENEWAL_STATUS", "AUTO_RENEW_DISABLED"): "will_not_renew"
        case ("DID_CHANGE_RENEWAL_PREF", _): "plan_changed"
        case ("OFFER_REDEEMED", _): "offer_redeemed"
        case ("DID_FAIL_TO_RENEW", "GRACE_PERIOD"): "grace_period_started"
        case ("DID_FAIL_TO_RENEW", _): "billing_retry_started"
        case ("GRACE_PERIOD_EXPIRED", _): "grace_period_ended"
        case ("EXPIRED", _): "expired"
        case ("PRICE_INCREASE", "PENDING"): "consent_asked"
        case ("PRICE_INCREASE", "ACCEPTED"): "consent_given"
        case ("RENEWAL_EXTENDED", _): "extended"
        case ("CONSUMPTION_REQUEST", _): "consumption_asked"
        case ("REFUND_DECLINED", _): "refund_declined"
        case ("REFUND_REVERSED", _): "refund_reversed"
        default: nil
        }
    }

    /// A refund requested, made or declined; of several with one notificationUUID the one signed first counts.
    struct RefundRequestFact {
        let environment: String
        let uuid: String
        let kind: String
        let charge: String
        let contract: String
        let reason: String?
        let signed: Int64
    }

    func refundRequests() -> [RefundRequestFact] {
        let all = notifications.compactMap { notification -> RefundRequestFact? in
            let kinds = ["CONSUMPTION_REQUEST": "asked", "REFUND": "refunded", "REFUND_DECLINED": "declined"]
            guard let kind = kinds[notification.type.rawValue], let charge = notification.transaction else { return nil }
            return RefundRequestFact(
                environment: notification.app.environment.rawValue,
                uuid: notification.notificationUUID.text,
                kind: kind,
                charge: charge.transactionID,
                contract: charge.originalTransactionID,
                reason: kind == "asked" ? notification.state?.consumptionRequestReason?.rawValue : nil,
                signed: notification.signedDate.millisecondsSince1970
            )
        }
        let legacy = legacyNotifications.compactMap(\.refundRequest)
        return Dictionary(grouping: all + legacy) { Key($0.environment, $0.uuid) }.values.compactMap { $0.min { $0.signed < $1.signed } }
    }
}
