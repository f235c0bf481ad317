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
    /// The period that it pays; nil when it belongs to no contract, or does not say.
    var lineItemID: String? { get }
    /// Whether it is a period of an auto-renewable subscription.
    var isSubscription: Bool { get }
    var isConsumable: Bool { get }
}

extension Charge {
    /// The order number of the purchase when no token names an order; equal for all facts about the purchase.
    package var periodNumber: UUID {
        if let lineItemID {
            return OrderNumber.ofPeriod(
                environment: key.environment,
                originalTransactionID: originalTransactionID,
                webOrderLineItemID: lineItemID
            )
        }
        return OrderNumber.ofCharge(environment: key.environment, transactionID: purchaseID)
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
