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

    package enum Member: String, CaseIterable {
        case environment, appAppleId, bundleId, productId, requestIdentifier, storefrontCountryCodes, succeededCount
        case failedCount
    }

    package init(_ json: JSONObject) throws(MalformedPayload) {
        let members = MemberReader<Member>(json)
        environment = try members.value(.environment)
        appAppleId = try members.numericIdentifier(.appAppleId)
        bundleId = try members.string(.bundleId)
        productId = try members.string(.productId)
        requestIdentifier = try members.identifier(.requestIdentifier)
        storefrontCountryCodes = try members.strings(.storefrontCountryCodes)
        succeededCount = try members.integer(.succeededCount)
        failedCount = try members.integer(.failedCount)
    }
}
