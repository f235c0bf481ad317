import AppStore
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
    /// The values of Apple's lists that this version does not know, at most 20: `transaction.type=Subscription%20Bundle`.
    ///
    /// What is not a letter, a digit, `-`, `.` or `_` of ASCII is percent-encoded (RFC 3986).
    package internal(set) var unknownValues: [String] = []

    /// Whether nothing but ``oddMembers`` and ``unknownValues`` is known.
    var areEmpty: Bool {
        var others = self
        others.oddMembers = []
        others.unknownValues = []
        return others == EventLabels()
    }

    /// Names each of these members once. They are Apple's names, never values.
    mutating func note(odd members: [String]) { Self.note(members, in: &oddMembers) }

    /// Names each of these values once. Apple chose them, never a customer or an app.
    mutating func note(unknown values: [UnknownValue]) {
        Self.note(values.map { "\($0.path)=\($0.value.percentEncoded)" }, in: &unknownValues)
    }

    private static func note(_ texts: [String], in noted: inout [String]) {
        for text in texts.lazy.map({ String($0.prefix(maximumLength)) }) where !noted.contains(text) {
            guard noted.count < maximumCount else { return }
            noted.append(text)
        }
    }

    private static let maximumCount = 20
    private static let maximumLength = 100
}

extension String {
    fileprivate var percentEncoded: String {
        utf8.map { byte in
            let character = Character(UnicodeScalar(byte))
            let isUnreserved = character.isASCII && (character.isLetter || character.isNumber || "-._".contains(character))
            return isUnreserved ? String(character) : "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
        }
        .joined()
    }
}
