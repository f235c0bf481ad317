package import AppStore

/// A type with its subtype, written `TYPE` or `TYPE/SUBTYPE`.
package struct NotificationKind: Hashable, Sendable, CustomStringConvertible {
    package var type: NotificationTypeV2
    package var subtype: Subtype?

    package init(_ type: NotificationTypeV2, _ subtype: Subtype? = nil) {
        self.type = type
        self.subtype = subtype
    }

    /// Reads `TYPE` or `TYPE/SUBTYPE`; throws `invalidOption` unless each is of capital letters, digits and underscores.
    package init(_ text: String) throws(SimulationError) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        let isWellFormed = parts.allSatisfy { part in
            !part.isEmpty && part.utf8.allSatisfy { $0 == UInt8(ascii: "_") || (0x30...0x39).contains($0) || (0x41...0x5a).contains($0) }
        }
        guard (1...2).contains(parts.count), isWellFormed else {
            throw SimulationError(.invalidOption, "\(text) is not TYPE or TYPE/SUBTYPE, as in SUBSCRIBED/INITIAL_BUY")
        }
        type = NotificationTypeV2(rawValue: String(parts[0]))
        subtype = parts.count == 2 ? Subtype(rawValue: String(parts[1])) : nil
    }

    package var description: String {
        subtype.map { "\(type.rawValue)/\($0.rawValue)" } ?? type.rawValue
    }
}
