package import FoundationEssentials

/// What a verified event says of itself, so that people can find it. Empty where nothing was verified.
///
/// Each text can be stored and indexed.
package struct EventLabels: Hashable, Sendable {
    package internal(set) var notificationType: String?
    package internal(set) var subtype: String?
    package internal(set) var notificationUUID: UUID?
    package internal(set) var environment: String?
    package internal(set) var bundleID: String?
    package internal(set) var transactionID: String?
    package internal(set) var originalTransactionID: String?
}
