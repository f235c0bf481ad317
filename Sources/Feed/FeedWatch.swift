import ServiceLifecycle
import Synchronization

/// Tells any number of waiters that the feed has grown. One question at each tick serves all of them; without waiters none is asked.
///
/// It needs no notification of the database (LISTEN), which a pooler such as PgBouncer does not pass on.
package final class FeedWatch: Service {
    package typealias Instant = ContinuousClock.Instant

    private struct Waiter {
        let id: Int
        let end: FeedEnd
        let deadline: Instant
        let isGone: @Sendable () -> Bool
        let continuation: CheckedContinuation<Bool, Never>
    }

    private struct State {
        var waiters: [Waiter] = []
        var latestID = 0
        var isAsking = false
        var isStopped = false
    }

    /// The most callers that wait at once.
    private let limit: Int
    private let tick: Duration
    private let restAfterFailure: Duration
    private let readEnd: @Sendable () async throws -> FeedEnd
    private let state = Mutex(State())
    private let (arrivals, arrival) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))

    /// - Parameters:
    ///   - limit: the most callers that ought to wait at once: see ``isFull``.
    ///   - tick: the pause between two questions.
    ///   - restAfterFailure: the pause after a question that failed.
    ///   - readEnd: asks the database; it reports its failures itself.
    package init(
        limit: Int = .max,
        every tick: Duration = .milliseconds(100),
        restAfterFailure: Duration = .seconds(1),
        readEnd: @escaping @Sendable () async throws -> FeedEnd
    ) {
        self.limit = limit
        self.tick = tick
        self.restAfterFailure = restAfterFailure
        self.readEnd = readEnd
    }

    /// Waits until the feed does not end there any more; false at the deadline, at shutdown, when cancelled, and for a caller that is gone. It
    /// answers at ticks only, so that a caller that waits again and again reads the feed once a tick at most.
    ///
    /// - Parameter isGone: whether whom the caller answers has gone; asked at each tick, must not block.
    package func grows(
        beyond end: FeedEnd,
        until deadline: Instant,
        unless isGone: @escaping @Sendable () -> Bool = { false }
    ) async -> Bool {
        guard deadline > .now else { return false }
        let id = state.withLock { state in
            state.latestID += 1
            return state.latestID
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isWaiting = state.withLock { state in
                    // A cancellation before this lock finds no waiter, and one after it finds this one.
                    guard !state.isStopped, !Task.isCancelled else { return false }
                    state.waiters.append(Waiter(id: id, end: end, deadline: deadline, isGone: isGone, continuation: continuation))
                    return true
                }
                if isWaiting { arrival.yield() } else { continuation.resume(returning: false) }
            }
        } onCancel: {
            let waiter = state.withLock { state in
                state.waiters.firstIndex { $0.id == id }.map { state.waiters.remove(at: $0) }
            }
            waiter?.continuation.resume(returning: false)
        }
    }

    /// Answers all waiters, also those to come.
    package func stop() {
        let waiters = state.withLock { state in
            defer { state.waiters = [] }
            state.isStopped = true
            return state.waiters
        }
        for waiter in waiters { waiter.continuation.resume(returning: false) }
    }

    /// Whether as many wait as may: a new caller is to be refused.
    package var isFull: Bool { state.withLock { $0.waiters.count >= limit } }

    /// Whether all waiters are answered at once.
    package var isStopped: Bool { state.withLock(\.isStopped) }

    /// Asks until graceful shutdown, and then answers all waiters.
    package func run() async throws {
        defer { stop() }
        try await cancelWhenGracefulShutdown { [self] in
            do {
                try await withThrowingDiscardingTaskGroup { group in
                    for await _ in arrivals {
                        while isAwaited {
                            try await Task.sleep(for: tick)
                            if beginsQuestion() { group.addTask { try await self.ask() } } else { answer(nil) }
                        }
                    }
                }
            } catch is CancellationError {
                // Graceful shutdown ends the wait.
            }
        }
    }

    private var isAwaited: Bool { state.withLock { !$0.waiters.isEmpty } }

    /// One question at a time, and none that nothing waits for. While the database is silent, who has waited long enough or is gone is answered
    /// all the same.
    private func beginsQuestion() -> Bool {
        state.withLock { state in
            guard !state.isAsking, !state.waiters.isEmpty else { return false }
            state.isAsking = true
            return true
        }
    }

    private func ask() async throws {
        defer { state.withLock { $0.isAsking = false } }
        do {
            answer(try await readEnd())
        } catch {
            answer(nil)
            try await Task.sleep(for: restAfterFailure)
        }
    }

    /// - Parameter end: where the feed ends; nil when that is unknown.
    private func answer(_ end: FeedEnd?) {
        let now = Instant.now
        let answered = state.withLock { state in
            let pivot = state.waiters.partition { ($0.end != end && end != nil) || $0.deadline <= now || $0.isGone() }
            defer { state.waiters.removeSubrange(pivot...) }
            return state.waiters[pivot...]
        }
        for waiter in answered { waiter.continuation.resume(returning: end != nil && waiter.end != end) }
    }
}

/// Where the feed ends.
package struct FeedEnd: Sendable, Hashable, Comparable {
    /// Raised when positions come to mean something else.
    package let generation: Int32
    /// The latest position; 0 before the first entry.
    package let position: Int64

    package init(generation: Int32, position: Int64) {
        (self.generation, self.position) = (generation, position)
    }

    /// Whether a server whose feed ends at `left` may lack changes that one whose feed ends at `right` has.
    package static func < (left: FeedEnd, right: FeedEnd) -> Bool {
        (left.generation, left.position) < (right.generation, right.position)
    }
}
