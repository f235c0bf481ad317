package import StrictJSON

/// A token for purchases outside the App Store.
package struct ExternalPurchaseToken: PayloadObject {
    /// Begins with `SANDBOX` in the sandbox.
    package let externalPurchaseId: String?
    package let tokenCreationDate: Timestamp?
    /// Only for tokens of custom links.
    package let tokenType: ExternalPurchaseTokenType?
    /// Only for tokens of custom links.
    package let tokenExpirationDate: Timestamp?
    package let appAppleId: Int64?
    package let bundleId: String?
    package let odd: [MalformedPayload]
    package let unknown: [UnknownValue]

    package enum Member: String, CaseIterable {
        case externalPurchaseId, tokenCreationDate, tokenType, tokenExpirationDate, appAppleId, bundleId
    }

    package init(decoding json: JSONObject) {
        var members = MemberReader<Member>(json)
        externalPurchaseId = members.identifier(.externalPurchaseId)
        tokenCreationDate = members.timestamp(.tokenCreationDate)
        tokenType = members.value(.tokenType)
        tokenExpirationDate = members.timestamp(.tokenExpirationDate)
        appAppleId = members.numericIdentifier(.appAppleId)
        bundleId = members.string(.bundleId)
        odd = members.odd
        unknown = members.unknown
    }
}

extension ExternalPurchaseToken {
    /// The environment by the prefix of the identifier; `nil` without an identifier.
    package var environment: AppStoreEnvironment? {
        externalPurchaseId.map { $0.hasPrefix("SANDBOX") ? .sandbox : .production }
    }
}

/// The commission that an external purchase token is for; Apple's `tokenType`.
package struct ExternalPurchaseTokenType: OpenValue {
    package let rawValue: String

    package init(rawValue: String) {
        self.rawValue = rawValue
    }

    package static let acquisition = ExternalPurchaseTokenType(rawValue: "ACQUISITION")
    package static let services = ExternalPurchaseTokenType(rawValue: "SERVICES")
    package static let coreTechnology = ExternalPurchaseTokenType(rawValue: "CORE_TECHNOLOGY")

    package static let known: Set = [acquisition, services, coreTechnology]
}
