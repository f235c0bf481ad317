/// A value behind a reference: handing it on costs one reference count, however many members it has.
package final class SharedValue<Value: Sendable>: Sendable {
    package let value: Value

    package init(_ value: Value) {
        self.value = value
    }
}
