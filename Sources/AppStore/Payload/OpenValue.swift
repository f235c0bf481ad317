/// A value from one of Apple's lists, which grow without notice: unknown values are kept, never refused.
package protocol OpenValue: RawRepresentable, Hashable, Sendable {
    var rawValue: RawValue { get }
    init(rawValue: RawValue)

    /// The values that this version knows.
    static var known: Set<Self> { get }
}

extension OpenValue {
    package var isKnown: Bool { Self.known.contains(self) }
}
