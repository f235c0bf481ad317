/// A value from one of Apple's lists, which grow without notice: unknown values are kept, never refused.
package protocol OpenValue: RawRepresentable, Hashable, Sendable {
    var rawValue: RawValue { get }
    init(rawValue: RawValue)
}
