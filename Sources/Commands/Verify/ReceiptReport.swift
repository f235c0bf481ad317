import AppStore
import AppStoreVerification
import StrictJSON

/// A genuine app receipt as JSON.
struct ReceiptReport {
    /// The value of `kind` for a receipt.
    static let kind = "receipt"

    let json: JSONObject

    init(_ verified: VerifiedReceipt) {
        let receipt = verified.receipt
        var json: JSONObject = ["environment": .string(verified.environment.rawValue), "bundleId": .string(verified.bundleID)]
        json["appItemId"] = receipt.appItemID.map { .integer($0) }
        json["applicationVersion"] = receipt.applicationVersion.map(JSONValue.string)
        json["originalApplicationVersion"] = receipt.originalApplicationVersion.map(JSONValue.string)
        json["creationDate"] = .date(verified.creationDate)
        json["originalPurchaseDate"] = receipt.originalPurchaseDate.map(JSONValue.date)
        json["expirationDate"] = receipt.expirationDate.map(JSONValue.date)
        json["signatureDigest"] = .string(verified.digest.rawValue)
        json["contentHash"] = .string(ContentDigest.hexadecimal(verified.contentHash))
        json["purchases"] = .array(receipt.purchases.map { .object(Self.json($0)) })
        self.json = json
    }

    private static func json(_ purchase: InAppPurchase) -> JSONObject {
        var json = JSONObject()
        json["transactionId"] = purchase.transactionID.map(JSONValue.string)
        json["originalTransactionId"] = purchase.originalTransactionID.map(JSONValue.string)
        json["webOrderLineItemId"] = purchase.webOrderLineItemID.map(JSONValue.string)
        json["productId"] = purchase.productID.map(JSONValue.string)
        json["productType"] = purchase.productType.map { .integer($0.rawValue) }
        json["quantity"] = purchase.quantity.map { .integer($0) }
        json["purchaseDate"] = purchase.purchaseDate.map(JSONValue.date)
        json["originalPurchaseDate"] = purchase.originalPurchaseDate.map(JSONValue.date)
        json["expiresDate"] = purchase.expiresDate.map(JSONValue.date)
        json["cancellationDate"] = purchase.cancellationDate.map(JSONValue.date)
        json["isTrialPeriod"] = purchase.isTrialPeriod.map(JSONValue.bool)
        json["isInIntroOfferPeriod"] = purchase.isInIntroOfferPeriod.map(JSONValue.bool)
        json["promotionalOfferId"] = purchase.promotionalOfferID.map(JSONValue.string)
        return json
    }
}

extension JSONValue {
    /// An instant in RFC 3339.
    fileprivate static func date(_ date: Timestamp) -> JSONValue { .string("\(date)") }
}
