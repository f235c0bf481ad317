/// An endpoint of the App Store Server API, with a limit of its own.
package enum ServerAPIEndpoint: String, CaseIterable, Sendable {
    case transactionInfo, transactionHistory, subscriptionStatuses, appTransactionInfo, refundHistory, orderLookup
    case consumption, consumptionV1, appAccountToken, extendRenewal, massExtension, massExtensionStatus
    case testNotification, testNotificationStatus, notificationHistory
    case customerGroups, groupMembers, seatInfo

    /// Method and path; `*` stands for an argument.
    private var template: String {
        switch self {
        case .transactionInfo: "GET /inApps/v1/transactions/*"
        case .transactionHistory: "GET /inApps/v2/history/*"
        case .subscriptionStatuses: "GET /inApps/v1/subscriptions/*"
        case .appTransactionInfo: "GET /inApps/v1/transactions/appTransactions/*"
        case .refundHistory: "GET /inApps/v2/refund/lookup/*"
        case .orderLookup: "GET /inApps/v1/lookup/*"
        case .consumption: "PUT /inApps/v2/transactions/consumption/*"
        case .consumptionV1: "PUT /inApps/v1/transactions/consumption/*"
        case .appAccountToken: "PUT /inApps/v1/transactions/*/appAccountToken"
        case .extendRenewal: "PUT /inApps/v1/subscriptions/extend/*"
        case .massExtension: "POST /inApps/v1/subscriptions/extend/mass"
        case .massExtensionStatus: "GET /inApps/v1/subscriptions/extend/mass/*/*"
        case .testNotification: "POST /inApps/v1/notifications/test"
        case .testNotificationStatus: "GET /inApps/v1/notifications/test/*"
        case .notificationHistory: "POST /inApps/v1/notifications/history"
        case .customerGroups: "GET /groups/v1/currentGroups/*"
        case .groupMembers: "GET /groups/v1/group/*"
        case .seatInfo: "GET /groups/v1/transactions/*/seats"
        }
    }

    /// Apple's documented limit for Production, in calls a second. It is counted by the hour.
    package var callsPerSecond: Int {
        switch self {
        case .refundHistory, .orderLookup: 10
        case .appAccountToken, .extendRenewal: 20
        case .massExtension, .massExtensionStatus, .testNotification, .testNotificationStatus: 1
        case .transactionInfo, .transactionHistory, .subscriptionStatuses, .appTransactionInfo, .consumption, .consumptionV1,
            .notificationHistory, .customerGroups, .groupMembers, .seatInfo:
            50
        }
    }

    /// The endpoint of a request, and the arguments in its path; nil for an unknown path or method.
    package static func route(_ method: String, _ path: String) -> (endpoint: ServerAPIEndpoint, arguments: [String])? {
        let segments = path.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        for endpoint in allCases {
            let words = endpoint.template.split(separator: " ")
            let pattern = words[1].split(separator: "/", omittingEmptySubsequences: false)
            guard words[0] == method, pattern.count == segments.count else { continue }
            let pairs = zip(pattern, segments)
            guard pairs.allSatisfy({ $0 == "*" ? !$1.isEmpty : $0 == $1 }) else { continue }
            return (endpoint, pairs.filter { $0.0 == "*" }.map(\.1))
        }
        return nil
    }
}
