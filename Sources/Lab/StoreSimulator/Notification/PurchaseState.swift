package import AppStore
package import StrictJSON

/// The content of `data`: a charge, the contract's renewal info and its status, each part with its own signed date.
package struct PurchaseState: Hashable, Sendable {
    package var transaction: Dated<SimulatedTransaction>?
    package var renewalInfo: Dated<SimulatedRenewalInfo>?
    package var status: Status?
    package var consumptionRequestReason: ConsumptionRequestReason?

    /// A value and the time of its signature.
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
    /// Begins with SANDBOX in the Sandbox, the payload's only mark of the environment.
    package var externalPurchaseID: String
    package var creationDate: Timestamp
    /// Only of a token for custom links.
    package var type: ExternalPurchaseTokenType?
    /// Only of a token for custom links.
    package var expirationDate: Timestamp?

    package func payload(of app: SimulatedApp) -> JSONObject {
        var json = JSONObject()
        json.add("externalPurchaseId", externalPurchaseID)
        json.add("tokenCreationDate", creationDate)
        json.add("tokenType", type?.rawValue)
        json.add("tokenExpirationDate", expirationDate)
        json.add("appAppleId", app.appAppleID)
        json.add("bundleId", app.bundleID)
        return json
    }
}
