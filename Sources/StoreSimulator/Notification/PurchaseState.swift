package import AppStore

/// What `data` holds: a charge, the contract's renewal and its status, each part with the date of its own signature.
package struct PurchaseState: Hashable, Sendable {
    package var transaction: Dated<SimulatedTransaction>?
    package var renewalInfo: Dated<SimulatedRenewalInfo>?
    package var status: Status?
    package var consumptionRequestReason: ConsumptionRequestReason?

    /// Something and when the store signs it.
    package struct Dated<Value: Hashable & Sendable>: Hashable, Sendable {
        package var value: Value
        package var signedDate: Timestamp
    }
}

/// The result of extending the subscriptions of many customers, `summary`.
package struct ExtensionSummary: Hashable, Sendable {
    package var productID: String
    package var requestIdentifier: String
    package var storefrontCountryCodes: [String]
    package var succeededCount: Int64
    package var failedCount: Int64

    func payload(of app: SimulatedApp) -> JSONObject {
        var json = JSONObject()
        json.add("requestIdentifier", requestIdentifier)
        json.add("environment", app.environment.rawValue)
        json.add("appAppleId", app.appAppleID)
        json.add("bundleId", app.bundleID)
        json.add("productId", productID)
        json["storefrontCountryCodes"] = .array(storefrontCountryCodes.map(JSONValue.string))
        json.add("succeededCount", succeededCount)
        json.add("failedCount", failedCount)
        return json
    }
}

/// A token for purchases outside the App Store, `externalPurchaseToken`.
package struct ExternalToken: Hashable, Sendable {
    /// Begins with SANDBOX there: the payload has no other sign of the environment.
    package var externalPurchaseID: String
    package var creationDate: Timestamp

    func payload(of app: SimulatedApp) -> JSONObject {
        var json = JSONObject()
        json.add("externalPurchaseId", externalPurchaseID)
        json.add("tokenCreationDate", creationDate)
        json.add("appAppleId", app.appAppleID)
        json.add("bundleId", app.bundleID)
        return json
    }
}
