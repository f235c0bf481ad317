package import AppStore
package import FoundationEssentials

/// What each fact about one charge says.
package protocol Charge {
    /// Found by environment and transactionId.
    var key: LedgerKey { get }
    var originalTransactionID: String { get }
    var productID: String { get }
    var purchaseDate: Timestamp { get }
    /// The period that it pays; nil when it belongs to no contract, or does not say.
    var lineItemID: String? { get }
}

extension Charge {
    /// The order number of the paid period when no token names an order; equal for all facts about the charge.
    package var periodNumber: UUID {
        if let lineItemID {
            return OrderNumber.ofPeriod(
                environment: key.environment,
                originalTransactionID: originalTransactionID,
                webOrderLineItemID: lineItemID
            )
        }
        return OrderNumber.ofCharge(environment: key.environment, transactionID: key.id)
    }
}
