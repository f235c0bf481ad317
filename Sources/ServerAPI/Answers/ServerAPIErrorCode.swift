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
