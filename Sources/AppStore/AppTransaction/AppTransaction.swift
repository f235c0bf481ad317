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

    package enum Member: String, CaseIterable {
        case receiptType, appAppleId, bundleId, applicationVersion, versionExternalIdentifier, receiptCreationDate
        case originalPurchaseDate, originalApplicationVersion, deviceVerification, deviceVerificationNonce
        case preorderDate, appTransactionId, originalPlatform
    }

    package init(_ json: JSONObject) throws(MalformedPayload) {
        let members = MemberReader<Member>(json)
        receiptType = try members.value(.receiptType)
        appAppleId = try members.numericIdentifier(.appAppleId)
        bundleId = try members.string(.bundleId)
        applicationVersion = try members.string(.applicationVersion)
        versionExternalIdentifier = try members.numericIdentifier(.versionExternalIdentifier)
        receiptCreationDate = try members.timestamp(.receiptCreationDate)
        originalPurchaseDate = try members.timestamp(.originalPurchaseDate)
        originalApplicationVersion = try members.string(.originalApplicationVersion)
        deviceVerification = try members.string(.deviceVerification)
        deviceVerificationNonce = try members.uuid(.deviceVerificationNonce)
        preorderDate = try members.timestamp(.preorderDate)
        appTransactionId = try members.identifier(.appTransactionId)
        originalPlatform = try members.value(.originalPlatform)
    }
}
