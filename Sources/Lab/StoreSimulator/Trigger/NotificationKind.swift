package import AppStore

/// A type with its subtype, written `TYPE` or `TYPE/SUBTYPE`, and with `:variant` behind it where a kind has several scenarios.
package struct NotificationKind: Hashable, Sendable, CustomStringConvertible {
    package var type: NotificationTypeV2
    package var subtype: Subtype?
    /// What the notification is about, such as `seats`; nil is the usual scenario.
    package var variant: String?

    package init(_ type: NotificationTypeV2, _ subtype: Subtype? = nil) {
        self.type = type
        self.subtype = subtype
    }

    /// Reads `TYPE` or `TYPE/SUBTYPE`; throws `invalidOption` unless each is of capital letters, digits and underscores, and a variant of small
    /// letters and hyphens.
    package init(_ text: String) throws(SimulationError) {
        let halves = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        let parts = halves[0].split(separator: "/", omittingEmptySubsequences: false)
        let isWellFormed = parts.allSatisfy { part in
            !part.isEmpty && part.utf8.allSatisfy { $0 == UInt8(ascii: "_") || (0x30...0x39).contains($0) || (0x41...0x5a).contains($0) }
        }
        let variant = halves.dropFirst().first
        let hasGoodVariant = variant.map { word in
            !word.isEmpty && word.utf8.allSatisfy { $0 == UInt8(ascii: "-") || (0x61...0x7a).contains($0) }
        }
        guard (1...2).contains(parts.count), isWellFormed, hasGoodVariant ?? true else {
            throw SimulationError(.invalidOption, "\(text) is not TYPE or TYPE/SUBTYPE, as in SUBSCRIBED/INITIAL_BUY")
        }
        self.variant = variant.map(String.init)
        type = NotificationTypeV2(rawValue: String(parts[0]))
        subtype = parts.count == 2 ? Subtype(rawValue: String(parts[1])) : nil
    }

    package var description: String {
        (subtype.map { "\(type.rawValue)/\($0.rawValue)" } ?? type.rawValue) + (variant.map { ":\($0)" } ?? "")
    }
}
