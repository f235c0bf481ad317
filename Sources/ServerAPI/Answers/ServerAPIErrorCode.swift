/// The `errorCode` of an answer, also one that Apple adds tomorrow.
package struct ServerAPIErrorCode: RawRepresentable, Hashable, Sendable {
    package let rawValue: Int

    package init(rawValue: Int) {
        self.rawValue = rawValue
    }

    /// None of Apple's: the request was not sent.
    package static let notSent = ServerAPIErrorCode(rawValue: 0)
    package static let invalidAppIdentifier = ServerAPIErrorCode(rawValue: 4_000_002)
    package static let invalidRevision = ServerAPIErrorCode(rawValue: 4_000_005)
    package static let invalidTransactionID = ServerAPIErrorCode(rawValue: 4_000_006)
    package static let startDateTooFarInPast = ServerAPIErrorCode(rawValue: 4_000_012)
    package static let invalidPaginationToken = ServerAPIErrorCode(rawValue: 4_000_014)
    package static let paginationTokenExpired = ServerAPIErrorCode(rawValue: 4_000_017)
    package static let accountNotFoundRetryable = ServerAPIErrorCode(rawValue: 4_040_002)
    package static let appNotFound = ServerAPIErrorCode(rawValue: 4_040_003)
    package static let appNotFoundRetryable = ServerAPIErrorCode(rawValue: 4_040_004)
    package static let originalTransactionIDNotFound = ServerAPIErrorCode(rawValue: 4_040_005)
    package static let originalTransactionIDNotFoundRetryable = ServerAPIErrorCode(rawValue: 4_040_006)
    package static let notificationURLNotFound = ServerAPIErrorCode(rawValue: 4_040_007)
    package static let testNotificationNotFound = ServerAPIErrorCode(rawValue: 4_040_008)
    package static let statusRequestNotFound = ServerAPIErrorCode(rawValue: 4_040_009)
    package static let transactionIDNotFound = ServerAPIErrorCode(rawValue: 4_040_010)
    package static let groupNotFound = ServerAPIErrorCode(rawValue: 4_040_022)
    package static let rateLimitExceeded = ServerAPIErrorCode(rawValue: 4_290_000)

    /// Apple's name of the error; nil for a code that is not documented.
    package var name: String? { Self.names[rawValue] }

    /// What to do after an error.
    package enum Advice: Hashable, Sendable {
        /// The request is wrong, or nothing is known of what it asks about.
        case refuse
        /// The token of a page is bad or has expired: begin again with the first page of the same body.
        case restartFromFirstPage
        /// The window begins before what Apple keeps: move its start forward.
        case startLater
        /// The revision is refused: ask without one.
        case dropRevision
        /// Not known in this environment, or not yet: ask the other environment once.
        case otherEnvironment
        /// Rarely said of ids that exist: ask once more after a day.
        case askOnceMore
        /// Apple says that the same request can succeed.
        case retry
        /// What is asked for is not there yet: ask again until the deadline.
        case notYet
    }

    package var advice: Advice {
        switch self {
        case .invalidPaginationToken, .paginationTokenExpired: .restartFromFirstPage
        case .startDateTooFarInPast: .startLater
        case .invalidRevision: .dropRevision
        case .transactionIDNotFound: .otherEnvironment
        case .originalTransactionIDNotFound: .askOnceMore
        case .accountNotFoundRetryable, .appNotFoundRetryable, .originalTransactionIDNotFoundRetryable: .retry
        case .testNotificationNotFound, .statusRequestNotFound: .notYet
        default: (5_000_000...5_999_999).contains(rawValue) ? .retry : .refuse
        }
    }
}

extension ServerAPIErrorCode {
    /// Every code whose number is public, with Apple's name of the error: of the App Store Server API 1.23, and of Retention Messaging 1.5, which
    /// numbers its errors in the same space. Where both name a number, the name is that of the App Store Server API.
    package static let names: [Int: String] = [
        4000000: "GeneralBadRequest",
        4000002: "InvalidAppIdentifier",
        4000004: "InvalidLimit",
        4000005: "InvalidRequestRevision",
        4000006: "InvalidTransactionId",
        4000008: "InvalidOriginalTransactionId",
        4000009: "InvalidExtendByDays",
        4000010: "InvalidExtendReasonCode",
        4000011: "InvalidRequestIdentifier",
        4000012: "StartDateTooFarInPast",
        4000013: "StartDateAfterEndDate",
        4000014: "InvalidPaginationToken",
        4000015: "InvalidStartDate",
        4000016: "InvalidEndDate",
        4000017: "PaginationTokenExpired",
        4000018: "InvalidNotificationType",
        4000019: "MultipleFiltersSupplied",
        4000020: "InvalidTestNotificationToken",
        4000021: "InvalidSort",
        4000022: "InvalidProductType",
        4000023: "InvalidProductId",
        4000024: "InvalidSubscriptionGroupIdentifier",
        4000025: "InvalidExcludeRevoked",
        4000026: "InvalidInAppOwnershipType",
        4000027: "InvalidEmptyStorefrontCountryCodeList",
        4000028: "InvalidStorefrontCountryCode",
        4000030: "InvalidRevoked",
        4000031: "InvalidStatus",
        4000032: "InvalidAccountTenure",
        4000033: "InvalidAppAccountToken",
        4000034: "InvalidConsumptionStatus",
        4000035: "InvalidCustomerConsented",
        4000036: "InvalidDeliveryStatus",
        4000037: "InvalidLifetimeDollarsPurchased",
        4000038: "InvalidLifetimeDollarsRefunded",
        4000039: "InvalidPlatform",
        4000040: "InvalidPlayTime",
        4000041: "InvalidSampleContentProvided",
        4000042: "InvalidUserStatus",
        4000043: "InvalidTransactionNotConsumable",
        4000044: "InvalidRefundPreference",
        4000047: "InvalidTransactionTypeNotSupported",
        4000048: "AppTransactionIdNotSupported",
        4000161: "InvalidImage",
        4000162: "HeaderTooLong",
        4000163: "BodyTooLong",
        4000164: "InvalidLocale",
        4000175: "AltTextTooLong",
        4000183: "InvalidAppAccountTokenUuid",
        4000185: "FamilyTransactionNotSupported",
        4000187: "TransactionIdIsNotOriginalTransactionId",
        4000209: "ConsumptionPercentageAutoRenewable",
        4000211: "InvalidPerformanceTestRequest",
        4000212: "InvalidRequestId",
        4000213: "ExistingPerformanceTestRun",
        4000215: "BadRequestRealtimeUrl",
        4000216: "BadRequestImageSize",
        4000218: "BadRequestTooManyBulletPoints",
        4000219: "BadRequestBulletPointTextTooLong",
        4000224: "BadRequestAboveImageRequiresAnImage",
        4000225: "InvalidGroupId",
        4000227: "InvalidAssignedTransactionNotSupported",
        4030004: "SubscriptionExtensionIneligible",
        4030005: "SubscriptionMaxExtension",
        4030007: "FamilySharedSubscriptionExtensionIneligible",
        4030014: "MaximumNumberOfImagesReached",
        4030016: "MaximumNumberOfMessagesReached",
        4030017: "MessageNotApproved",
        4030018: "ImageNotApproved",
        4030019: "ImageInUse",
        4030026: "ForbiddenNoPassingTest",
        4030028: "AssignedSubscriptionExtensionIneligible",
        4040001: "AccountNotFound",
        4040002: "AccountNotFoundRetryable",
        4040003: "AppNotFound",
        4040004: "AppNotFoundRetryable",
        4040005: "OriginalTransactionIdNotFound",
        4040006: "OriginalTransactionIdNotFoundRetryable",
        4040007: "ServerNotificationUrlNotFound",
        4040008: "TestNotificationNotFound",
        4040009: "StatusRequestNotFound",
        4040010: "TransactionIdNotFound",
        4040014: "ImageNotFound",
        4040015: "MessageNotFound",
        4040018: "PerformanceTestRunNotFound",
        4040019: "AppTransactionDoesNotExist",
        4040020: "DefaultMessageNotFound",
        4040021: "RealtimeUrlNotFound",
        4040022: "GroupNotFound",
        4090000: "ImageAlreadyExists",
        4090001: "MessageAlreadyExists",
        4290000: "RateLimitExceeded",
        5000000: "GeneralInternal",
        5000001: "GeneralInternalRetryable",
    ]
}
