package import Outbox

/// An endpoint of Apple's App Store Server API 1.23; the raw value is its name in `appstore.api_budgets`, logs and metrics.
///
/// Left out are the three that claim, unclaim and associate seats, which Apple has in Sandbox only so far.
package enum ServerAPIEndpoint: String, CaseIterable, Sendable {
    case transactionInfo = "transaction_info"
    case transactionHistory = "transaction_history"
    case subscriptionStatuses = "subscription_statuses"
    case appTransaction = "app_transaction"
    case refundHistory = "refund_history"
    case orderLookup = "order_lookup"
    case consumption
    /// For transactions of Advanced Commerce only.
    case consumptionV1 = "consumption_v1"
    case setAppAccountToken = "set_app_account_token"
    case finishTransaction = "finish_transaction"
    case extendRenewalDate = "extend_renewal_date"
    case extendForAll = "extend_for_all"
    case extendStatus = "extend_status"
    case testNotification = "test_notification"
    case testStatus = "test_status"
    case notificationHistory = "notification_history"
    // Of groups of seats. Apple answers in Sandbox only so far.
    case customerGroups = "customer_groups"
    case groupMembers = "group_members"
    case seatInfo = "seat_info"

    package var method: OutboundRequest.Method {
        switch self {
        case .consumption, .consumptionV1, .setAppAccountToken, .extendRenewalDate: .put
        case .finishTransaction, .extendForAll, .testNotification, .notificationHistory: .post
        default: .get
        }
    }

    /// The path; each name in braces stands for one of ``ServerAPIRequest/path``, in this order.
    package var template: String {
        switch self {
        case .transactionInfo: "/inApps/v1/transactions/{transactionId}"
        case .transactionHistory: "/inApps/v2/history/{anyTransactionId}"
        case .subscriptionStatuses: "/inApps/v1/subscriptions/{anyTransactionId}"
        case .appTransaction: "/inApps/v1/transactions/appTransactions/{anyTransactionId}"
        case .refundHistory: "/inApps/v2/refund/lookup/{anyTransactionId}"
        case .orderLookup: "/inApps/v1/lookup/{orderId}"
        case .consumption: "/inApps/v2/transactions/consumption/{transactionId}"
        case .consumptionV1: "/inApps/v1/transactions/consumption/{transactionId}"
        case .setAppAccountToken: "/inApps/v1/transactions/{originalTransactionId}/appAccountToken"
        case .finishTransaction: "/inApps/v1/transactions/{transactionId}/finish"
        case .extendRenewalDate: "/inApps/v1/subscriptions/extend/{originalTransactionId}"
        case .extendForAll: "/inApps/v1/subscriptions/extend/mass"
        case .extendStatus: "/inApps/v1/subscriptions/extend/mass/{productId}/{requestIdentifier}"
        case .testNotification: "/inApps/v1/notifications/test"
        case .testStatus: "/inApps/v1/notifications/test/{testNotificationToken}"
        case .notificationHistory: "/inApps/v1/notifications/history"
        case .customerGroups: "/groups/v1/currentGroups/{anyTransactionId}"
        case .groupMembers: "/groups/v1/group/{groupId}"
        case .seatInfo: "/groups/v1/transactions/{transactionId}/seats"
        }
    }

    /// The requests a second that Apple documents for an app in Production. Sandbox has a tenth. For ``seatInfo`` no limit is known: it has that
    /// of most.
    package var documentedRate: Double {
        switch self {
        case .refundHistory, .orderLookup: 10
        case .setAppAccountToken, .extendRenewalDate: 20
        case .extendForAll, .extendStatus, .testNotification, .testStatus: 1
        default: 50
        }
    }
}
