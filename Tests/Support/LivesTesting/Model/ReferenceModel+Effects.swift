import AppStore
import StoreSimulator

/// The effects and the refund requests.
extension ReferenceModel {
    /// `environment kind subject` of each effect.
    func effects() -> Set<String> {
        var effects = effectsOfStatements()
        for purchase in Dictionary(grouping: charges, by: \.period).values { effects.formUnion(refunds(of: purchase)) }
        return effects
    }

    /// The refunds as each statement about a charge names them: of one purchase by their dates.
    func statedRefunds() -> Set<String> {
        Set(
            charges.flatMap(\.assertions).compactMap { assertion in
                guard assertion.isRefund, let date = assertion.number("revocationDate") else { return nil }
                return "\(assertion.environment) refunded \(assertion.grant)/\(date / 1000 * 1000)"
            }
        )
    }

    /// The effects other than refunds.
    func effectsOfStatements() -> Set<String> {
        var effects: Set<String> = []
        for charge in charges {
            for assertion in charge.assertions {
                effects.insert("\(charge.environment) granted \(assertion.grant)")
                if !assertion.isShared, let seats = Seats(of: assertion)?.revoked, seats > 0, assertion.number("revocationDate") == nil {
                    effects.insert("\(charge.environment) seats_refunded \(charge.id)/\(seats)")
                }
                guard !assertion.isRefund, let date = assertion.number("revocationDate") else { continue }
                // In whole seconds, as in receipts.
                effects.insert("\(charge.environment) revoked \(charge.id)/\(date / 1000 * 1000)")
            }
        }
        for notification in notifications {
            guard let kind = Self.lifecycle(notification) else { continue }
            effects.insert("\(notification.app.environment.rawValue) \(kind) \(notification.notificationUUID.text)")
        }
        for notification in legacyNotifications {
            guard let kind = notification.lifecycle else { continue }
            effects.insert("\(notification.app.environment.rawValue) \(kind) \(notification.name)")
        }
        return effects
    }

    /// The refunds of a purchase: one, and another after each reversal that was signed before the greatest revocation date, in whole seconds.
    private func refunds(of charges: [Charge]) -> [String] {
        let dates = charges.flatMap(\.assertions).filter(\.isRefund).compactMap { $0.number("revocationDate") }
        guard let first = Purchase(charges)?.first, let last = dates.max() else { return [] }
        let transactions = Set(charges.map(\.id))
        let reversals = notifications.filter { notification in
            notification.type == .refundReversed && notification.app.environment.rawValue == first.environment
                && notification.transactionID.map(transactions.contains) ?? false
        }
        let signed = Dictionary(grouping: reversals, by: \.notificationUUID).values.compactMap { same in
            same.map(\.signedDate.millisecondsSince1970).min()
        }
        return (0...signed.filter { $0 / 1000 < last / 1000 }.count).map { "\(first.environment) refunded \(first.grant)/\($0)" }
    }

    private static func lifecycle(_ notification: SimulatedNotification) -> String? {
        // The status says more than the subtype.
        if notification.type == .didFailToRenew, notification.status == .billingGracePeriod { return "grace_period_started" }
        if notification.type == .didFailToRenew, notification.status == .billingRetry { return "billing_retry_started" }
        return switch (notification.type.rawValue, notification.subtype?.rawValue) {
        // Whatever the type.
        case (_, "INCREASE_QUANTITY"), (_, "DECREASE_QUANTITY"): "seats_changed"
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
        case ("UNCLAIM_SEATS", _): "seats_unclaimed"
        case ("RESCIND_CONSENT", _): "consent_rescinded"
        case ("EXTERNAL_PURCHASE_TOKEN", _): "external_purchase_token"
        case ("PRICE_CHANGE", _): "price_changed"
        case ("METADATA_UPDATE", _): "metadata_updated"
        case ("MIGRATION", _), ("MIGRATE", _): "migrated"
        case ("RENEWAL_EXTENSION", "SUMMARY"): "extension_completed"
        case ("RENEWAL_EXTENSION", "FAILURE"): "extension_failed"
        default: nil
        }
    }

    /// A refund requested, made, declined or reversed; of several with one notificationUUID the one signed first counts.
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
            let kinds = [
                "CONSUMPTION_REQUEST": "asked", "REFUND": "refunded", "REFUND_DECLINED": "declined", "REFUND_REVERSED": "reversed",
            ]
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
