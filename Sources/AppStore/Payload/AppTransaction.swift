package import FoundationEssentials
package import StrictJSON

/// The first download or purchase of an app by an Apple Account.
package struct AppTransaction: PayloadObject {
    /// The environment.
    package let receiptType: AppStoreEnvironment?
    package let appAppleId: Int64?
    package let bundleId: String?
    package let applicationVersion: String?
    package let versionExternalIdentifier: Int64?
    /// The signing date.
    package let receiptCreationDate: Timestamp?
    package let originalPurchaseDate: Timestamp?
    package let originalApplicationVersion: String?
    /// Base 64 of a hash that binds the JWS to a device.
    package let deviceVerification: String?
    package let deviceVerificationNonce: UUID?
    package let preorderDate: Timestamp?
    package let appTransactionId: String?
    package let originalPlatform: PurchasePlatform?
    package let storeType: StoreType?
    /// When Apple took the purchase of the app back.
    package let revocationDate: Timestamp?
    package let odd: [MalformedPayload]
    package let unknown: [UnknownValue]

    package enum Member: String, CaseIterable {
        case receiptType, appAppleId, bundleId, applicationVersion, versionExternalIdentifier, receiptCreationDate
        case originalPurchaseDate, originalApplicationVersion, deviceVerification, deviceVerificationNonce
        case preorderDate, appTransactionId, originalPlatform, storeType, revocationDate
    }

    package init(decoding json: JSONObject) {
        var members = MemberReader<Member>(json)
        receiptType = members.value(.receiptType)
        appAppleId = members.numericIdentifier(.appAppleId)
        bundleId = members.string(.bundleId)
        applicationVersion = members.string(.applicationVersion)
        versionExternalIdentifier = members.numericIdentifier(.versionExternalIdentifier)
        receiptCreationDate = members.timestamp(.receiptCreationDate)
        originalPurchaseDate = members.timestamp(.originalPurchaseDate)
        originalApplicationVersion = members.string(.originalApplicationVersion)
        deviceVerification = members.string(.deviceVerification)
        deviceVerificationNonce = members.uuid(.deviceVerificationNonce)
        preorderDate = members.timestamp(.preorderDate)
        appTransactionId = members.identifier(.appTransactionId)
        originalPlatform = members.value(.originalPlatform)
        storeType = members.value(.storeType)
        revocationDate = members.timestamp(.revocationDate)
        odd = members.odd
        unknown = members.unknown
    }
}

/// The platform on which the customer first bought the app.
package struct PurchasePlatform: OpenValue {
    package let rawValue: String

    package init(rawValue: String) {
        self.rawValue = rawValue
    }

    package static let iOS = PurchasePlatform(rawValue: "iOS")
    package static let macOS = PurchasePlatform(rawValue: "macOS")
    package static let tvOS = PurchasePlatform(rawValue: "tvOS")
    package static let visionOS = PurchasePlatform(rawValue: "visionOS")

    package static let known: Set = [iOS, macOS, tvOS, visionOS]
}

/// The store from which the customer has the app.
package struct StoreType: OpenValue {
    package let rawValue: String

    package init(rawValue: String) {
        self.rawValue = rawValue
    }

    package static let consumer = StoreType(rawValue: "CONSUMER")

    package static let known: Set = [consumer]
}
