import CGlibc
import Glibc
import Synchronization

/// Calls actions every ``period`` on one thread, which runs as long as there are actions.
///
/// It serves timeouts that rarely pass: a `Task.sleep` that is cancelled keeps its timer, with all that it refers to, until its time has come.
/// The thread keeps time also when all of Swift's threads compute.
package final class Ticker: Sendable {
    /// Must not block. Returns whether it is to be called again. It may be called once more while it is being removed.
    package typealias Action = @Sendable () -> Bool

    private struct State {
        var actions: [Int: Action] = [:]
        var latestID = 0
        var isRunning = false
        var idleRounds = 0

        /// The actions of this round; nil when the thread is to end.
        mutating func nextRound() -> [Int: Action]? {
            idleRounds = actions.isEmpty ? idleRounds + 1 : 0
            isRunning = idleRounds < 100
            return isRunning ? actions : nil
        }
    }

    private let state = Mutex(State())

    package init() {}

    /// The process's own.
    package static let shared = Ticker()

    /// How late an action may be.
    package static var period: Duration { .milliseconds(50) }

    /// The number of actions.
    var count: Int { state.withLock { $0.actions.count } }

    /// Adds an action, and returns its number for ``remove(_:)``.
    ///
    /// - Throws: ``ThreadError`` when the thread cannot be started.
    package func add(_ action: @escaping Action) throws(ThreadError) -> Int {
        try state.withLock { state throws(ThreadError) in
            if !state.isRunning { try DetachedThread.start(named: "ticker") { self.run() } }
            (state.isRunning, state.idleRounds) = (true, 0)
            state.latestID += 1
            state.actions[state.latestID] = action
            return state.latestID
        }
    }

    package func remove(_ id: Int) {
        state.withLock { _ = $0.actions.removeValue(forKey: id) }
    }

    private func run() {
        while true {
            usleep(50_000)
            guard let actions = state.withLock({ $0.nextRound() }) else { return }
            // Without the lock: an action may add or remove others.
            for (id, action) in actions where !action() { remove(id) }
        }
    }
}

extension Ticker {
    /// Waits that long, as `Task.sleep` does, and leaves nothing behind when it is cancelled.
    package func sleep(for duration: Duration) async throws {
        let deadline = ContinuousClock.now + duration
        let waiter = Waiter()
        let id = try add {
            guard ContinuousClock.now >= deadline else { return true }
            waiter.end(.success(()))
            return false
        }
        defer { remove(id) }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { waiter.begin($0) }
        } onCancel: {
            waiter.end(.failure(CancellationError()))
        }
    }

    /// A task that waits until the first call of ``end(_:)``, which may come first.
    private final class Waiter: Sendable {
        private enum State {
            case created
            case waiting(CheckedContinuation<Void, any Error>)
            case ended(Result<Void, any Error>)
        }

        private let state = Mutex(State.created)

        func begin(_ continuation: CheckedContinuation<Void, any Error>) {
            let result: Result<Void, any Error>? = state.withLock { state in
                if case .ended(let result) = state { return result }
                state = .waiting(continuation)
                return nil
            }
            if let result { continuation.resume(with: result) }
        }

        func end(_ result: Result<Void, any Error>) {
            let continuation: CheckedContinuation<Void, any Error>? = state.withLock { state in
                defer { state = .ended(result) }
                if case .waiting(let continuation) = state { return continuation }
                return nil
            }
            continuation?.resume(with: result)
        }
    }
}

/// An operating system thread for C calls that block, which must not run on Swift's cooperative threads.
package enum DetachedThread {
    /// Runs `body` on a new thread, which ends with it.
    ///
    /// - Parameter name: The thread's name in `top -H`; at most 15 bytes.
    package static func start(named name: StaticString, _ body: @escaping @Sendable () -> Void) throws(ThreadError) {
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        defer { pthread_attr_destroy(&attributes) }
        pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
        let work = Unmanaged.passRetained(Work(name: name, body: body))
        var thread = pthread_t()
        let status = pthread_create(
            &thread,
            &attributes,
            { argument in
                guard let argument else { return nil }
                let work = Unmanaged<Work>.fromOpaque(argument).takeRetainedValue()
                work.name.withUTF8Buffer { cglibc_name_thread($0.baseAddress) }
                work.body()
                return nil
            },
            work.toOpaque()
        )
        if status != 0 {
            work.release()
            throw ThreadError(errorNumber: status)
        }
    }

    private final class Work {
        let name: StaticString
        let body: @Sendable () -> Void

        init(name: StaticString, body: @escaping @Sendable () -> Void) {
            self.name = name
            self.body = body
        }
    }
}

/// The system has no thread left.
package struct ThreadError: Error, CustomStringConvertible {
    package let errorNumber: CInt

    package var description: String { "cannot start a thread: \(String(cString: strerror(errorNumber)))" }
}
