package import AppStore
package import Outbox
package import StrictJSON

/// A question to the App Store Server API.
package struct ServerAPIRequest: Hashable, Sendable {
    /// A member of the query. A name may be repeated.
    package struct QueryItem: Hashable, Sendable {
        package let name: String
        package let value: String

        package init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    package let endpoint: ServerAPIEndpoint
    /// The app and the environment that are asked about.
    package let lane: CallLane
    /// The values of the endpoint's template, in its order; they are percent-encoded when the request is sent.
    package let path: [String]
    package let query: [QueryItem]
    package let body: JSONObject?

    package init(
        _ endpoint: ServerAPIEndpoint,
        of bundleID: String,
        in environment: AppStoreEnvironment,
        path: [String] = [],
        query: [QueryItem] = [],
        body: JSONObject? = nil
    ) {
        self.endpoint = endpoint
        self.lane = CallLane(bundleID, environment)
        self.path = path
        self.query = query
        self.body = body
    }

    /// Whether each value of the template is there, and is no dot segment, which would name another path (RFC 3986, section 3.3).
    var isComplete: Bool {
        path.count == endpoint.template.count { $0 == "{" } && path.allSatisfy { !["", ".", ".."].contains($0) }
    }

    /// The path and query of the URL.
    var target: String {
        var values = path[...]
        let segments = endpoint.template.split(separator: "/").map { segment in
            segment.hasPrefix("{") ? Self.encoded(values.popFirst() ?? "") : String(segment)
        }
        let items = query.map { "\(Self.encoded($0.name))=\(Self.encoded($0.value))" }
        return "/" + segments.joined(separator: "/") + (items.isEmpty ? "" : "?" + items.joined(separator: "&"))
    }

    /// Everything but the unreserved characters of RFC 3986 is escaped, so that a value can be no other path.
    private static func encoded(_ text: String) -> String {
        text.utf8.map { byte in
            let scalar = UnicodeScalar(byte)
            let isPlain =
                byte < 0x80 && (Character(scalar).isLetter || Character(scalar).isNumber || "-_~.".unicodeScalars.contains(scalar))
            return isPlain ? String(scalar) : "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
        }.joined()
    }
}

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

/// The urgency of a request. All classes draw from one budget, each only while enough is left for the more urgent ones. The raw value is the
/// column `priority` of the outbox.
package enum ServerAPIClass: Int, CaseIterable, Sendable {
    /// Consumption and tests: what has a deadline.
    case deadline
    /// A person or a program waits.
    case interactive
    case reconcile
    case history
    case `import`
}
