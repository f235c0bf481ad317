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
    /// The known members of another type than this version reads, at most 20: `data.bundleVersion`, `latest_receipt_info[].quantity`.
    package internal(set) var oddMembers: [String] = []

    /// Whether nothing but ``oddMembers`` is known.
    var areEmpty: Bool {
        var others = self
        others.oddMembers = []
        return others == EventLabels()
    }

    /// Names each of these members once. They are Apple's names, never values.
    mutating func note(odd members: [String]) {
        for member in members.lazy.map({ String($0.prefix(Self.maximumLength)) }) where !oddMembers.contains(member) {
            guard oddMembers.count < Self.maximumCount else { return }
            oddMembers.append(member)
        }
    }

    private static let maximumCount = 20
    private static let maximumLength = 100
}
