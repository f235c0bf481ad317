/// An operation that a key may cover. A check constraint of the table of keys has the same list.
package enum Verb: String, CaseIterable, Sendable {
    case createOrders = "orders:create"
    case readOrders = "orders:read"
    case submitTransactions = "transactions:submit"
    case submitReceipts = "receipts:submit"
    case readEvents = "events:read"
    case readEntitlements = "entitlements:read"
    case readSubscriptions = "subscriptions:read"
    case linkContracts = "contracts:link"
    case readFeed = "feed:read"
    case consumeFeed = "feed:consume"
    case readConsumption = "consumption:read"
    case answerConsumption = "consumption:answer"
    case writeConsents = "consents:write"
    case makeInquiries = "inquiries:make"
    case extendContracts = "contracts:extend"
    case setTokens = "contracts:set-token"
}
