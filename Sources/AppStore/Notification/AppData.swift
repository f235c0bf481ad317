/// The app a notification without a purchase is about.
package struct AppData: PayloadObject {
    package let appAppleId: Int64?
    package let bundleId: String?
    package let environment: AppStoreEnvironment?
    /// A compact JWS of its own: `AppTransaction`.
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
