package import AppStore

extension NotificationKind {
    /// The notification V2 that Apple sends at the same moment as a notification V1 of this type; throws `unknownNotification`, which lists
    /// the known types.
    package init(ofV1 type: NotificationTypeV1) throws(SimulationError) {
        guard let kind = Self.ofV1[type] else {
            let known = Self.ofV1.keys.map(\.rawValue).sorted().joined(separator: ", ")
            throw SimulationError(.unknownNotification, "\(type.rawValue) is no known notification V1; known are \(known)")
        }
        self = kind
    }

    private static let ofV1: [NotificationTypeV1: NotificationKind] = [
        .initialBuy: NotificationKind(.subscribed, .initialBuy), .interactiveRenewal: NotificationKind(.subscribed, .resubscribe),
        .didRenew: NotificationKind(.didRenew), .didRecover: NotificationKind(.didRenew, .billingRecovery),
        .renewal: NotificationKind(.didRenew, .billingRecovery), .didFailToRenew: NotificationKind(.didFailToRenew),
        .didChangeRenewalStatus: NotificationKind(.didChangeRenewalStatus, .autoRenewDisabled),
        .didChangeRenewalPref: NotificationKind(.didChangeRenewalPref, .downgrade),
        .priceIncreaseConsent: NotificationKind(.priceIncrease, .pending), .cancel: NotificationKind(.refund),
        .refund: NotificationKind(.refund), .revoke: NotificationKind(.revoke),
        .consumptionRequest: NotificationKind(.consumptionRequest),
    ]
}
