/// A value from one of Apple's lists, which grow without notice: one that we do not know is kept, never refused.
package protocol OpenValue: RawRepresentable, Hashable, Sendable {
    /// The value as Apple writes it.
    var rawValue: RawValue { get }

    /// That value, known or not.
    init(rawValue: RawValue)
}
