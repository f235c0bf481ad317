package import StrictJSON

/// The app, subscription and transaction of a notification.
package struct NotificationData: PayloadObject {
    package let environment: AppStoreEnvironment?
    /// Absent in the sandbox for apps that are not yet in the App Store.
    package let appAppleId: Int64?
    package let bundleId: String?
    /// The build number of the app.
    package let bundleVersion: String?
    /// A nested compact JWS: `JWSTransactionDecodedPayload`.
    package let signedTransactionInfo: String?
    /// A nested compact JWS: `JWSRenewalInfoDecodedPayload`.
    package let signedRenewalInfo: String?
    /// The state of the subscription when the notification was signed.
    package let status: Status?
    package let consumptionRequestReason: ConsumptionRequestReason?
    package let odd: [MalformedPayload]
    package let unknown: [UnknownValue]

    package enum Member: String, CaseIterable {
        case environment, appAppleId, bundleId, bundleVersion, signedTransactionInfo, signedRenewalInfo, status
        case consumptionRequestReason
    }

    package init(decoding json: JSONObject) {
        var members = MemberReader<Member>(json)
        environment = members.value(.environment)
        appAppleId = members.numericIdentifier(.appAppleId)
        bundleId = members.string(.bundleId)
        bundleVersion = members.string(.bundleVersion)
        signedTransactionInfo = members.string(.signedTransactionInfo)
        signedRenewalInfo = members.string(.signedRenewalInfo)
        status = members.value(.status)
        consumptionRequestReason = members.value(.consumptionRequestReason)
        odd = members.odd
        unknown = members.unknown
    }
}
