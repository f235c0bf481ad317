/// A value of one of Apple's lists that this version does not know. The payload keeps it.
package struct UnknownValue: Hashable, Sendable {
    /// Where the value is: `data.status`.
    package let path: String
    /// A number as its digits.
    package let value: String

    package init(path: String, value: String) {
        self.path = path
        self.value = value
    }

    /// The same value with a path from the enclosing object.
    package func inside(_ outerPath: String) -> UnknownValue { UnknownValue(path: "\(outerPath).\(path)", value: value) }
}
