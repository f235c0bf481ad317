package import StrictJSON

/// The app of a notification that has no purchase.
package struct AppData: PayloadObject {
    package let appAppleId: Int64?
    package let bundleId: String?
    package let environment: AppStoreEnvironment?
    /// A nested compact JWS: `AppTransaction`.
    package let signedAppTransactionInfo: String?
    package let odd: [MalformedPayload]
    package let unknown: [UnknownValue]

    package enum Member: String, CaseIterable {
        case appAppleId, bundleId, environment, signedAppTransactionInfo
    }

    package init(decoding json: JSONObject) {
        var members = MemberReader<Member>(json)
        appAppleId = members.numericIdentifier(.appAppleId)
        bundleId = members.string(.bundleId)
        environment = members.value(.environment)
        signedAppTransactionInfo = members.string(.signedAppTransactionInfo)
        odd = members.odd
        unknown = members.unknown
    }
}
