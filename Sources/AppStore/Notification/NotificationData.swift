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

    package enum Member: String, CaseIterable {
        case environment, appAppleId, bundleId, bundleVersion, signedTransactionInfo, signedRenewalInfo, status
        case consumptionRequestReason
    }

    package init(_ json: JSONObject) throws(MalformedPayload) {
        let members = MemberReader<Member>(json)
        environment = try members.value(.environment)
        appAppleId = try members.numericIdentifier(.appAppleId)
        bundleId = try members.string(.bundleId)
        bundleVersion = try members.string(.bundleVersion)
        signedTransactionInfo = try members.string(.signedTransactionInfo)
        signedRenewalInfo = try members.string(.signedRenewalInfo)
        status = try members.value(.status)
        consumptionRequestReason = try members.value(.consumptionRequestReason)
    }
}
