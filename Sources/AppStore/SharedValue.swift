/// A value behind a reference, so that copying costs one retain whatever the number of members.
package final class SharedValue<Value: Sendable>: Sendable {
    package let value: Value

    package init(_ value: Value) {
        self.value = value
    }
}
