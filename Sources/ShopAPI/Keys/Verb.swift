/// What may be done with a key; a closed list, which the table of keys has too.
package enum Verb: String, CaseIterable, Sendable {
    case createOrders = "orders:create"
    case submitTransactions = "transactions:submit"
    case submitReceipts = "receipts:submit"
    case readEvents = "events:read"
    case readEntitlements = "entitlements:read"
    case readSubscriptions = "subscriptions:read"
    case linkContracts = "contracts:link"
}
