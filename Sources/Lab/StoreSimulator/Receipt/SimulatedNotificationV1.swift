package import AppStore
package import StrictJSON

/// A notification V1. Only the receipt in it is signed; the app's shared secret authenticates the rest.
package struct SimulatedNotificationV1: Sendable {
    package var type: NotificationTypeV1
    /// The app's shared secret; nil leaves it out.
    package var password: String?
    /// The content of `unified_receipt`.
    package var answer: VerifyReceiptAnswer
    /// When automatic renewal was last turned on or off.
    package var autoRenewStatusChangeDate: Timestamp?

    package init(type: NotificationTypeV1, password: String?, answer: VerifyReceiptAnswer) {
        self.type = type
        self.password = password
        self.answer = answer
    }

    /// The body as Apple posts it. As in most notifications, only the receipt names the contract.
    package var body: JSONObject {
        var json = JSONObject()
        json.add("notification_type", type.rawValue)
        json.add("password", password)
        json.add("environment", answer.app.environment == .production ? "PROD" : answer.app.environment.rawValue)
        json.add("bid", answer.app.bundleID)
        json.add("bvrs", answer.app.bundleVersion)
        if let renewal = answer.renewals.first {
            json.add("auto_renew_product_id", renewal.autoRenewProduct.id)
            json.addFlag("auto_renew_status", renewal.autoRenews)
        }
        json.addDate("auto_renew_status_change_date", autoRenewStatusChangeDate?.floored)
        json["unified_receipt"] = .object(answer.unifiedReceipt)
        return json
    }
}
