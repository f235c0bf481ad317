import Synchronization

/// A value that the first caller creates and later callers wait for. A failure is final too.
package final class Once<Value: Sendable>: Sendable {
    private enum State {
        case empty
        case creating([CheckedContinuation<Value, any Error>])
        case finished(Result<Value, any Error>)
    }

    private let state = Mutex(State.empty)

    package init() {}

    package func value(_ make: () async throws -> Value) async throws -> Value {
        let isFirst = state.withLock { state in
            guard case .empty = state else { return false }
            state = .creating([])
            return true
        }
        guard isFirst else { return try await awaited() }
        let result: Result<Value, any Error>
        do {
            result = .success(try await make())
        } catch {
            result = .failure(error)
        }
        let waiters = state.withLock { state in
            defer { state = .finished(result) }
            if case .creating(let waiters) = state { return waiters }
            return []
        }
        for waiter in waiters { waiter.resume(with: result) }
        return try result.get()
    }

    private func awaited() async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            let result: Result<Value, any Error>? = state.withLock { state in
                switch state {
                case .finished(let result): return result
                case .creating(let waiters): state = .creating(waiters + [continuation])
                case .empty: state = .creating([continuation])
                }
                return nil
            }
            if let result { continuation.resume(with: result) }
        }
    }
}
