package import FoundationEssentials
package import StrictJSON

/// The payload of a notification V2.
///
/// Of `data`, `summary`, `externalPurchaseToken` and `appData` Apple sends at most one; it does not say what accompanies `unclaimInfo`.
package struct ResponseBodyV2DecodedPayload: PayloadObject {
    package let notificationType: NotificationTypeV2?
    package let subtype: Subtype?
    /// The same in each delivery of this notification, and in no other one.
    package let notificationUUID: String?
    /// The version of this format, `2.0`.
    package let version: String?
    package let signedDate: Timestamp?
    package let data: NotificationData?
    package let summary: Summary?
    package let externalPurchaseToken: ExternalPurchaseToken?
    package let appData: AppData?
    package let unclaimInfo: UnclaimInfo?
    package let odd: [MalformedPayload]
    package let unknown: [UnknownValue]

    package enum Member: String, CaseIterable {
        case notificationType, subtype, notificationUUID, version, signedDate, data, summary, externalPurchaseToken
        case appData, unclaimInfo
    }

    package init(decoding json: JSONObject) {
        var members = MemberReader<Member>(json)
        notificationType = members.value(.notificationType)
        subtype = members.value(.subtype)
        notificationUUID = members.string(.notificationUUID)
        version = members.string(.version)
        signedDate = members.timestamp(.signedDate)
        data = members.object(.data)
        summary = members.object(.summary)
        externalPurchaseToken = members.object(.externalPurchaseToken)
        appData = members.object(.appData)
        unclaimInfo = members.object(.unclaimInfo)
        odd = members.odd
        unknown = members.unknown
    }
}

/// The app, subscription and transaction of a notification.
package struct NotificationData: PayloadObject {
    package let environment: AppStoreEnvironment?
    /// Absent in the sandbox for apps that are not yet in the App Store.
    package let appAppleId: Int64?
    package let bundleId: String?
    /// The build number of the app.
    package let bundleVersion: String?
    /// A nested compact JWS: `JWSTransactionDecodedPayload`.
    package let signedTransactionInfo: String?
    /// A nested compact JWS: `JWSRenewalInfoDecodedPayload`.
    package let signedRenewalInfo: String?
    /// The state of the subscription when the notification was signed.
    package let status: Status?
    package let consumptionRequestReason: ConsumptionRequestReason?
    package let odd: [MalformedPayload]
    package let unknown: [UnknownValue]

    package enum Member: String, CaseIterable {
        case environment, appAppleId, bundleId, bundleVersion, signedTransactionInfo, signedRenewalInfo, status
        case consumptionRequestReason
    }

    package init(decoding json: JSONObject) {
        var members = MemberReader<Member>(json)
        environment = members.value(.environment)
        appAppleId = members.numericIdentifier(.appAppleId)
        bundleId = members.string(.bundleId)
        bundleVersion = members.string(.bundleVersion)
        signedTransactionInfo = members.string(.signedTransactionInfo)
        signedRenewalInfo = members.string(.signedRenewalInfo)
        status = members.value(.status)
        consumptionRequestReason = members.value(.consumptionRequestReason)
        odd = members.odd
        unknown = members.unknown
    }
}

/// The state of an auto-renewable subscription when its notification was signed.
package struct Status: OpenValue {
    package let rawValue: Int32

    package init(rawValue: Int32) {
        self.rawValue = rawValue
    }

    package static let active = Status(rawValue: 1)
    package static let expired = Status(rawValue: 2)
    /// Not paid; Apple retries, without access.
    package static let billingRetry = Status(rawValue: 3)
    /// Not paid; Apple retries, with access.
    package static let billingGracePeriod = Status(rawValue: 4)
    /// Refunded, or no longer shared by the family.
    package static let revoked = Status(rawValue: 5)

    package static let known: Set = [active, expired, billingRetry, billingGracePeriod, revoked]
}

/// Why a customer asks for a refund.
package struct ConsumptionRequestReason: OpenValue {
    package let rawValue: String

    package init(rawValue: String) {
        self.rawValue = rawValue
    }

    package static let unintendedPurchase = ConsumptionRequestReason(rawValue: "UNINTENDED_PURCHASE")
    package static let fulfillmentIssue = ConsumptionRequestReason(rawValue: "FULFILLMENT_ISSUE")
    package static let unsatisfiedWithPurchase = ConsumptionRequestReason(rawValue: "UNSATISFIED_WITH_PURCHASE")
    package static let legal = ConsumptionRequestReason(rawValue: "LEGAL")
    package static let other = ConsumptionRequestReason(rawValue: "OTHER")

    package static let known: Set = [unintendedPurchase, fulfillmentIssue, unsatisfiedWithPurchase, legal, other]
}

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

/// The seats that Apple took from a group whose invitations the developer manages; Apple's page
/// `appstoreservernotifications/unclaiminfo`.
package struct UnclaimInfo: PayloadObject {
    /// The `seatClaimId` of each seat; the member to which the developer assigned it loses access.
    package let unclaimSeatIds: [UUID]?
    /// Apple does not say whether this object has the environment, or one of the two members after it.
    package let environment: AppStoreEnvironment?
    package let bundleId: String?
    package let appAppleId: Int64?
    package let odd: [MalformedPayload]
    package let unknown: [UnknownValue]

    package enum Member: String, CaseIterable {
        case unclaimSeatIds, environment, bundleId, appAppleId
    }

    package init(decoding json: JSONObject) {
        var members = MemberReader<Member>(json)
        unclaimSeatIds = members.uuids(.unclaimSeatIds)
        environment = members.value(.environment)
        bundleId = members.string(.bundleId)
        appAppleId = members.numericIdentifier(.appAppleId)
        odd = members.odd
        unknown = members.unknown
    }
}
