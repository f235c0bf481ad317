package import AppStore
package import FoundationEssentials
package import StrictJSON

/// The store's record of a customer's download of the app.
package struct SimulatedAppTransaction: Hashable, Sendable {
    package var appTransactionID: String
    package var originalPurchaseDate: Timestamp
    /// When the store signed it.
    package var receiptCreationDate: Timestamp
    /// 48 bytes that only the customer's device can verify.
    package var deviceVerification: [UInt8]
    package var deviceVerificationNonce: UUID
    /// Nil in what systems before 2025 sign.
    package var originalPlatform: PurchasePlatform? = .iOS
    /// Only of an app that was ordered before its release.
    package var preorderDate: Timestamp?
    /// Only of a purchase of the app that the store took back.
    package var revocationDate: Timestamp?

    /// The payload that Apple would sign.
    package func payload(of app: SimulatedApp) -> JSONObject {
        var json = JSONObject()
        json.add("receiptType", app.environment.rawValue)
        json.add("appAppleId", app.appAppleID)
        json.add("bundleId", app.bundleID)
        json.add("applicationVersion", app.bundleVersion)
        json.add("versionExternalIdentifier", app.appAppleID.map { $0 % 1_000_000 })
        json.add("receiptCreationDate", receiptCreationDate)
        json.add("originalPurchaseDate", originalPurchaseDate)
        json.add("originalApplicationVersion", "1.0")
        json.add("deviceVerification", Base64.encode(deviceVerification))
        json.add("deviceVerificationNonce", deviceVerificationNonce)
        json.add("appTransactionId", appTransactionID)
        json.add("originalPlatform", originalPlatform?.rawValue)
        json.add("preorderDate", preorderDate)
        json.add("revocationDate", revocationDate)
        return json
    }
}
