package import AppStore
package import FoundationEssentials

/// What each fact about one transaction says of the purchase that it belongs to.
///
/// A purchase is what the customer bought once: a period of a subscription, a product that is kept, or a consumable. Apple makes further
/// transactions of a purchase, *copies*, when it is restored or moves to another device.
package protocol Charge {
    /// Found by environment and transactionId.
    var key: LedgerKey { get }
    var originalTransactionID: String { get }
    var productID: String { get }
    /// When the purchase was made. Of a copy it is the originalPurchaseDate: Apple gives the date of the restore as its purchaseDate.
    var purchaseDate: Timestamp { get }
    /// The webOrderLineItemId: the period that it pays, if it is one.
    var webOrderLineItemID: String? { get }
    /// Whether it is a period of an auto-renewable subscription.
    var isSubscription: Bool { get }
    var isConsumable: Bool { get }
}

extension Charge {
    /// The period that it pays; nil when it is none, or does not say.
    package var lineItemID: String? { isSubscription ? webOrderLineItemID : nil }

    /// The order number of the purchase when no token names an order; equal for all facts about the purchase.
    package var periodNumber: UUID { periodNumber(isSubscription: isSubscription, isConsumable: isConsumable) }

    /// The same, where other facts have the type.
    func periodNumber(isSubscription: Bool, isConsumable: Bool) -> UUID {
        if isSubscription, let lineItemID = webOrderLineItemID {
            return OrderNumber.ofPeriod(
                environment: key.environment,
                originalTransactionID: originalTransactionID,
                webOrderLineItemID: lineItemID
            )
        }
        let id = isSubscription || isConsumable ? key.id : originalTransactionID
        return OrderNumber.ofCharge(environment: key.environment, transactionID: id)
    }

    /// The name of the purchase within its environment, in the subjects of effects: contract and period, or a transactionId.
    package var purchase: String {
        lineItemID.map { "\(originalTransactionID)/\($0)" } ?? purchaseID
    }

    /// The transactionId of the purchase's first transaction. Only a consumable has no copies, and a period without its number cannot be told
    /// from another one.
    private var purchaseID: String { isSubscription || isConsumable ? key.id : originalTransactionID }

    /// Whether another transaction of the same purchase came before it, as the ids say. The copy of a period does not say so.
    package var isCopy: Bool { lineItemID == nil && purchaseID != key.id }
}
