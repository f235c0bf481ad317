package import StrictJSON

/// The app of a notification that has no purchase.
package struct AppData: PayloadObject {
    package let appAppleId: Int64?
    package let bundleId: String?
    package let environment: AppStoreEnvironment?
    /// A nested compact JWS: `AppTransaction`.
    package let signedAppTransactionInfo: String?

    package enum Member: String, CaseIterable {
        case appAppleId, bundleId, environment, signedAppTransactionInfo
    }

    package init(_ json: JSONObject) throws(MalformedPayload) {
        let members = MemberReader<Member>(json)
        appAppleId = try members.numericIdentifier(.appAppleId)
        bundleId = try members.string(.bundleId)
        environment = try members.value(.environment)
        signedAppTransactionInfo = try members.string(.signedAppTransactionInfo)
    }
}
