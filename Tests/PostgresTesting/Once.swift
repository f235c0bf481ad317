import Synchronization

/// A value that is made once, by the first who asks; the others wait for it. A failure is final too.
final class Once<Value: Sendable>: Sendable {
    private enum State {
        case unmade
        case making([CheckedContinuation<Value, any Error>])
        case made(Result<Value, any Error>)
    }

    private let state = Mutex(State.unmade)

    func value(_ make: () async throws -> Value) async throws -> Value {
        let isFirst = state.withLock { state in
            guard case .unmade = state else { return false }
            state = .making([])
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
            defer { state = .made(result) }
            if case .making(let waiters) = state { return waiters }
            return []
        }
        for waiter in waiters { waiter.resume(with: result) }
        return try result.get()
    }

    private func awaited() async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            let result: Result<Value, any Error>? = state.withLock { state in
                switch state {
                case .made(let result): return result
                case .making(let waiters): state = .making(waiters + [continuation])
                case .unmade: state = .making([continuation])
                }
                return nil
            }
            if let result { continuation.resume(with: result) }
        }
    }
}
