import Synchronization

/// A value that is replaced when the settings are read again; its users ask for the current one at each use.
final class Reloadable<Value: Sendable>: Sendable {
    private let value: Mutex<Value>

    init(_ value: Value) {
        self.value = Mutex(value)
    }

    var current: Value { value.withLock { $0 } }

    func replace(with new: Value) {
        value.withLock { $0 = new }
    }

    /// Replaces the value by one that is made of it.
    func update(_ change: (Value) -> Value) {
        value.withLock { $0 = change($0) }
    }
}
