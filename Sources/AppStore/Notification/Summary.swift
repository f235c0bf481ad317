package import StrictJSON

/// The result of a request to move the renewal dates of many subscriptions.
package struct Summary: PayloadObject {
    package let environment: AppStoreEnvironment?
    package let appAppleId: Int64?
    package let bundleId: String?
    package let productId: String?
    /// The identifier of the request.
    package let requestIdentifier: String?
    /// ISO 3166-1 alpha-3.
    package let storefrontCountryCodes: [String]?
    package let succeededCount: Int64?
    package let failedCount: Int64?
    package let odd: [MalformedPayload]
    package let unknown: [UnknownValue]

    package enum Member: String, CaseIterable {
        case environment, appAppleId, bundleId, productId, requestIdentifier, storefrontCountryCodes, succeededCount
        case failedCount
    }

    package init(decoding json: JSONObject) {
        var members = MemberReader<Member>(json)
        environment = members.value(.environment)
        appAppleId = members.numericIdentifier(.appAppleId)
        bundleId = members.string(.bundleId)
        productId = members.string(.productId)
        requestIdentifier = members.identifier(.requestIdentifier)
        storefrontCountryCodes = members.strings(.storefrontCountryCodes)
        succeededCount = members.integer(.succeededCount)
        failedCount = members.integer(.failedCount)
        odd = members.odd
        unknown = members.unknown
    }
}
