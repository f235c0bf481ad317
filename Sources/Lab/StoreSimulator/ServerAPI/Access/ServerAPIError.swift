import StrictJSON

/// An error of the App Store Server API, as its answers say it.
package struct ServerAPIError: Error, Hashable, Sendable {
    /// Apple's seven digits; the first three are the HTTP status.
    package let code: Int
    package let message: String

    package init(_ code: Int, _ message: String) {
        self.code = code
        self.message = message
    }

    /// An invalid member or parameter.
    static func invalid(_ code: Int, _ name: String) -> ServerAPIError { ServerAPIError(code, "Invalid request. The \(name) is invalid.") }

    /// The HTTP status; 400 for a code that does not begin with one.
    package var status: Int { (400..<600).contains(code / 10_000) ? code / 10_000 : 400 }

    static let badRequest = ServerAPIError(4_000_000, "Bad request.")
    static let limit = ServerAPIError(4_000_004, "Invalid request limit.")
    static let revision = ServerAPIError(4_000_005, "Invalid request revision.")
    static let transactionID = ServerAPIError(4_000_006, "Invalid transaction id.")
    static let originalTransactionID = ServerAPIError(4_000_008, "Invalid original transaction id.")
    static let extendByDays = ServerAPIError(4_000_009, "Invalid extend by days value.")
    static let extendReasonCode = ServerAPIError(4_000_010, "Invalid extend reason code.")
    static let requestIdentifier = ServerAPIError(4_000_011, "Invalid request identifier.")
    static let startDateTooOld = ServerAPIError(4_000_012, "Start date is earlier than the earliest allowed date.")
    static let startDateAfterEndDate = ServerAPIError(4_000_013, "Start date is later than end date.")
    static let paginationToken = invalid(4_000_014, "paginationToken")
    static let startDate = invalid(4_000_015, "startDate")
    static let endDate = invalid(4_000_016, "endDate")
    static let paginationTokenExpired = ServerAPIError(4_000_017, "Pagination token has expired, or the request is not the original one.")
    static let notificationType = invalid(4_000_018, "notificationType or notificationSubtype")
    static let multipleFilters = ServerAPIError(4_000_019, "Supply either transactionId or notificationType, but not both.")
    static let testNotificationToken = invalid(4_000_020, "test notification token")
    static let sort = invalid(4_000_021, "sort")
    static let productType = invalid(4_000_022, "productType")
    static let productID = invalid(4_000_023, "productId")
    static let subscriptionGroup = invalid(4_000_024, "subscriptionGroupIdentifier")
    static let ownership = invalid(4_000_026, "inAppOwnershipType")
    static let emptyStorefronts = ServerAPIError(4_000_027, "The storefrontCountryCodes list is empty.")
    static let storefront = invalid(4_000_028, "storefront country code")
    static let revoked = invalid(4_000_030, "revoked value")
    static let subscriptionStatus = invalid(4_000_031, "status")
    static let accountToken = invalid(4_000_033, "appAccountToken")
    static let consented = ServerAPIError(4_000_035, "Invalid customer consented.")
    static let deliveryStatus = invalid(4_000_036, "deliveryStatus")
    static let sampleContent = invalid(4_000_041, "sampleContentProvided value")
    static let refundPreference = invalid(4_000_044, "refundPreference")
    static let transactionType = ServerAPIError(4_000_047, "The transaction type is not supported by this endpoint.")
    static let appTransactionID = ServerAPIError(4_000_048, "An appTransactionId is not supported by this endpoint.")
    static let accountTokenFormat = ServerAPIError(4_000_183, "Invalid request. The app account token field must be a valid UUID.")
    static let familyTransaction = ServerAPIError(
        4_000_185,
        "Invalid request. Family Sharing transactions aren't supported by this endpoint."
    )
    static let notOriginal = ServerAPIError(4_000_187, "Invalid request. The transaction ID provided is not an original transaction ID.")
    static let percentageOfSubscription = ServerAPIError(
        4_000_209,
        "Invalid request. The consumption percentage must be null for auto-renewable subscriptions."
    )
    static let groupID = ServerAPIError(4_000_225, "Invalid group id.")
    // Apple names the next four errors without their numbers. These are invented, and a client should not know them.
    static let percentageOutOfRange = ServerAPIError(4_000_991, "Invalid request. The consumption percentage is out of range.")
    static let percentageOfUndelivered = ServerAPIError(
        4_000_992,
        "Invalid request. The consumption percentage of an undelivered item must be 0."
    )
    static let advancedCommerce = ServerAPIError(
        4_000_993,
        "Invalid request. Advanced Commerce transactions aren't supported by this endpoint."
    )
    static let notDeveloperHosted = ServerAPIError(
        4_000_994,
        "Invalid request. The transaction isn't for a subscription that uses developer-hosted invitations."
    )
    static let extensionIneligible = ServerAPIError(4_030_004, "Forbidden - subscription state ineligible for extension.")
    static let maximumExtensions = ServerAPIError(4_030_005, "Forbidden - subscription has reached maximum extension count.")
    static let familyExtension = ServerAPIError(
        4_030_007,
        "Subscriptions that users obtain through Family Sharing can't get an extension directly."
    )
    static let originalTransactionNotFound = ServerAPIError(4_040_005, "Original transaction id not found.")
    static let noNotificationURL = ServerAPIError(4_040_007, "No App Store Server Notification URL found for provided app.")
    static let testNotFound = ServerAPIError(
        4_040_008,
        "Either the test notification token is expired or the notification and status are not yet available."
    )
    static let statusNotFound = ServerAPIError(4_040_009, "The server didn't find a subscription-renewal-date extension request.")
    static let transactionNotFound = ServerAPIError(4_040_010, "Transaction id not found.")
    static let noAppTransaction = ServerAPIError(4_040_019, "No AppTransaction exists for the customer.")
    static let groupNotFound = ServerAPIError(4_040_022, "Group not found.")
    static let rateLimit = ServerAPIError(4_290_000, "Rate limit exceeded.")
    static let `internal` = ServerAPIError(5_000_000, "An unknown error occurred.")
}

extension SimulatedReply {
    init(_ error: ServerAPIError) {
        self.init(status: error.status, ["errorCode": .integer(error.code), "errorMessage": .string(error.message)] as JSONObject)
    }
}
