package import StrictJSON

/// A token for purchases outside the App Store.
package struct ExternalPurchaseToken: PayloadObject {
    /// Begins with `SANDBOX` in the sandbox.
    package let externalPurchaseId: String?
    package let tokenCreationDate: Timestamp?
    package let appAppleId: Int64?
    package let bundleId: String?

    package enum Member: String, CaseIterable {
        case externalPurchaseId, tokenCreationDate, appAppleId, bundleId
    }

    package init(_ json: JSONObject) throws(MalformedPayload) {
        let members = MemberReader<Member>(json)
        externalPurchaseId = try members.identifier(.externalPurchaseId)
        tokenCreationDate = try members.timestamp(.tokenCreationDate)
        appAppleId = try members.numericIdentifier(.appAppleId)
        bundleId = try members.string(.bundleId)
    }
}

extension ExternalPurchaseToken {
    /// The environment by the prefix of the identifier; `nil` without an identifier.
    package var environment: AppStoreEnvironment? {
        externalPurchaseId.map { $0.hasPrefix("SANDBOX") ? .sandbox : .production }
    }
}
