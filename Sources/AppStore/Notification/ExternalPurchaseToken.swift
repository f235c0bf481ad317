package import StrictJSON

/// A token for purchases outside the App Store.
package struct ExternalPurchaseToken: PayloadObject {
    /// Begins with `SANDBOX` in the sandbox.
    package let externalPurchaseId: String?
    package let tokenCreationDate: Timestamp?
    package let appAppleId: Int64?
    package let bundleId: String?
    package let odd: [MalformedPayload]

    package enum Member: String, CaseIterable {
        case externalPurchaseId, tokenCreationDate, appAppleId, bundleId
    }

    package init(decoding json: JSONObject) {
        var members = MemberReader<Member>(json)
        externalPurchaseId = members.identifier(.externalPurchaseId)
        tokenCreationDate = members.timestamp(.tokenCreationDate)
        appAppleId = members.numericIdentifier(.appAppleId)
        bundleId = members.string(.bundleId)
        odd = members.odd
    }
}

extension ExternalPurchaseToken {
    /// The environment by the prefix of the identifier; `nil` without an identifier.
    package var environment: AppStoreEnvironment? {
        externalPurchaseId.map { $0.hasPrefix("SANDBOX") ? .sandbox : .production }
    }
}
