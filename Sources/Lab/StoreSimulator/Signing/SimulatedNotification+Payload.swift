import AppStore
package import StrictJSON

extension SimulatedNotification {
    /// The outer payload without nested JWS.
    package var outerPayload: JSONObject { payload(NestedJWS()) }

    /// The outer payload (ResponseBodyV2DecodedPayload) around JWS that were signed before.
    func payload(_ nested: NestedJWS) -> JSONObject {
        var json = JSONObject()
        json.add("notificationType", type.rawValue)
        json.add("subtype", subtype?.rawValue)
        json.add("notificationUUID", notificationUUID)
        switch content {
        case .data(let state): json.add("data", data(state, nested))
        case .summary(let summary): json.add("summary", summary.payload(of: app))
        case .externalPurchaseToken(let token): json.add("externalPurchaseToken", token.payload(of: app))
        case .appData: json.add("appData", appData(nested))
        case .unclaimInfo(let seats, let state):
            if let state { json.add("data", data(state, nested)) }
            json.add("unclaimInfo", seats.payload(naming: state == nil ? app : nil))
        }
        json.add("version", "2.0")
        json.add("signedDate", signedDate)
        return json
    }

    private func data(_ state: PurchaseState, _ nested: NestedJWS) -> JSONObject {
        var json = JSONObject()
        json.add("appAppleId", app.appAppleID)
        json.add("bundleId", app.bundleID)
        // A TEST is not about a purchase, so it has no bundleVersion.
        if state.transaction != nil { json.add("bundleVersion", app.bundleVersion) }
        json.add("environment", app.environment.rawValue)
        json.add("signedTransactionInfo", nested.transaction.map { String(decoding: $0, as: UTF8.self) })
        json.add("signedRenewalInfo", nested.renewalInfo.map { String(decoding: $0, as: UTF8.self) })
        json.add("status", state.status?.rawValue)
        json.add("consumptionRequestReason", state.consumptionRequestReason?.rawValue)
        return json
    }

    private func appData(_ nested: NestedJWS) -> JSONObject {
        var json = JSONObject()
        json.add("appAppleId", app.appAppleID)
        json.add("bundleId", app.bundleID)
        json.add("environment", app.environment.rawValue)
        json.add("signedAppTransactionInfo", nested.appTransaction.map { String(decoding: $0, as: UTF8.self) })
        return json
    }
}
