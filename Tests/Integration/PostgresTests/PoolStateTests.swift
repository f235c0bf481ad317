import Testing

@testable import Postgres

@Suite struct PoolStateTests {
    private typealias State = PoolState<Int, String>

    @Test func `connections are opened up to the limit, and the most recently used one is leased first`() {
        var state = State(limit: 2)
        #expect(state.lease() == nil)
        #expect(state.addWaiter("a") == .opens)
        #expect(state.addWaiter("b") == .opens)
        #expect(state.addWaiter("c") == .waits)
        #expect(state.opened(1, at: .now).action.receiver == "a")
        #expect(state.opened(2, at: .now).action.receiver == "b")
        #expect(state.release(1, at: .now).receiver == "c")
        #expect(state.release(2, at: .now).isKept)
        #expect(state.release(1, at: .now).isKept)
        #expect(state.lease() == 1)
        #expect(state.lease() == 2)
        #expect(state.lease() == nil)
        #expect(state.leased == 2)
    }

    @Test func `the first waiter gets a released connection before any new caller`() {
        var state = State(limit: 1)
        let cancellations = (0..<3).map { _ in CancellationFlag() }
        for (name, cancellation) in zip(["a", "b", "c"], cancellations) { _ = state.addWaiter(name, cancellation) }
        #expect(state.opened(7, at: .now).action.receiver == "a")
        #expect(state.withdraw(cancellations[1]) == "b")
        #expect(state.release(7, at: .now).receiver == "c")
        #expect(state.lease() == nil)
        #expect(state.withdraw(cancellations[0]) == nil)
        #expect(state.lost(at: .now) == State.Demand())
        #expect(state.leased == 0)
    }

    @Test func `a connection opened for a withdrawn waiter goes to the next waiter or becomes idle`() {
        var state = State(limit: 2)
        let cancellation = CancellationFlag()
        #expect(state.addWaiter("a", cancellation) == .opens)
        #expect(state.withdraw(cancellation) == "a")
        // The first attempt may still take long, so this waiter gets a second one and takes the first result.
        #expect(state.addWaiter("b") == .opens)
        #expect(state.addWaiter("c") == .waits)
        #expect(state.opened(1, at: .now).action.receiver == "b")
        #expect(state.opened(2, at: .now).action.receiver == "c")
        #expect(state.release(1, at: .now).isKept)
        #expect(state.openings == 0)
        #expect(state.leased == 1)
    }

    @Test func `withdrawn waiters cause no more attempts than there are slots`() {
        var state = State(limit: 3)
        var openings = 0
        for number in 0..<100 {
            let cancellation = CancellationFlag()
            openings += state.addWaiter("\(number)", cancellation) == .opens ? 1 : 0
            #expect(state.withdraw(cancellation) != nil)
        }
        #expect(openings == 3)
        for number in 0..<3 { #expect(state.opened(number, at: .now).action.isKept) }
        #expect(state.slots == ConnectionPool.Slots(idle: 3))
    }

    @Test func `all waiters get the error of the last attempt in flight`() {
        var state = State(limit: 2)
        let cancellation = CancellationFlag()
        #expect(state.addWaiter("withdrawn", cancellation) == .opens)
        #expect(state.withdraw(cancellation) == "withdrawn")
        for name in ["a", "b", "c"] { #expect(state.addWaiter(name) == (name == "a" ? .opens : .waits)) }
        #expect(state.fail(at: .now) == [])
        #expect(state.fail(at: .now) == ["a", "b", "c"])
        #expect(state.openings == 0)
    }

    @Test func `after a failed attempt there is one at a time, each after a pause, until one succeeds`() {
        var state = State(limit: 4)
        let start = ContinuousClock.now
        #expect(state.addWaiter("a") == .opens)
        #expect(state.fail(at: start) == ["a"])
        // The waiters of the pause share the next attempt, for which there is one timer.
        let retryAt = start + .milliseconds(100)
        #expect(state.addWaiter("b", at: start) == .retries(at: retryAt))
        #expect(state.addWaiter("c", at: start) == .waits)
        #expect(state.retry(at: retryAt) == State.Demand(openings: 1))
        #expect(state.addWaiter("d", at: retryAt) == .waits)
        #expect(state.fail(at: retryAt) == ["b", "c", "d"])
        #expect(state.addWaiter("e", at: retryAt) == .retries(at: retryAt + .milliseconds(200)))
        #expect(state.addWaiter("f", at: retryAt) == .waits)
        #expect(state.retry(at: retryAt + .seconds(1)) == State.Demand(openings: 1))
        let opened = state.opened(1, at: .now)
        #expect(opened.action.receiver == "e")
        #expect(opened.demand == State.Demand(openings: 1), "for f")
        #expect(state.addWaiter("g") == .opens, "as many at once as there are slots")
        // The next failure is the first again.
        for expected in [[], ["f", "g"]] { #expect(state.fail(at: start) == expected) }
        #expect(state.addWaiter("h", at: start) == .retries(at: start + .milliseconds(100)))
    }

    @Test func `there is no attempt without a waiter, and the first one after the pause does not wait`() {
        var state = State(limit: 1)
        let start = ContinuousClock.now
        #expect(state.addWaiter("a") == .opens)
        #expect(state.fail(at: start) == ["a"])
        let cancellation = CancellationFlag()
        #expect(state.addWaiter("b", cancellation, at: start) == .retries(at: start + .milliseconds(100)))
        #expect(state.withdraw(cancellation) == "b")
        #expect(state.retry(at: start + .seconds(1)) == State.Demand())
        #expect(state.addWaiter("c", at: start + .seconds(1)) == .opens)
    }

    @Test func `a lost connection is replaced if there is a waiter`() {
        var state = State(limit: 1)
        #expect(state.addWaiter("a") == .opens)
        #expect(state.opened(1, at: .now).action.receiver == "a")
        #expect(state.addWaiter("b") == .waits)
        #expect(state.lost(at: .now) == State.Demand(openings: 1))
        #expect(state.openings == 1)
    }

    @Test func `a task that was cancelled before it waits is refused`() {
        var state = State(limit: 1)
        let cancellation = CancellationFlag()
        cancellation.cancel()
        guard case .cancelled = state.wait("a", cancellation, at: .now) else { return record("not cancelled") }
        #expect(state.openings == 0)
    }

    @Test func `connections that have been idle for long expire`() {
        var state = State(limit: 3)
        let start = ContinuousClock.now
        for number in 0..<3 { _ = state.addWaiter("\(number)") }
        for number in 0..<3 { _ = state.opened(number, at: start) }
        for number in 0..<3 { _ = state.release(number, at: start + .seconds(number)) }
        #expect(state.expire(before: start + .seconds(2)) == [0, 1])
        #expect(state.slots.idle == 1)
    }

    @Test func `a closed pool discards connections that are released or opened`() {
        var state = State(limit: 4)
        let cancellation = CancellationFlag()
        #expect(state.addWaiter("withdrawn", cancellation) == .opens)
        #expect(state.withdraw(cancellation) == "withdrawn")
        for (number, name) in ["a", "b"].enumerated() {
            #expect(state.addWaiter(name) == .opens)
            #expect(state.opened(number, at: .now).action.receiver == name)
        }
        #expect(state.release(0, at: .now).isKept)
        #expect(state.close().unused == [0])
        #expect(state.lease() == nil)
        guard case .closed = state.wait("d", CancellationFlag(), at: .now) else { return record("not closed") }
        #expect(state.release(1, at: .now).isDiscarded)
        #expect(state.openings == 1)
        #expect(state.opened(2, at: .now).action.isDiscarded)
        #expect(state.leased == 0 && state.openings == 0)
    }

    @Test func `a retired connection keeps its slot until it has ended, except in the last slot`() throws {
        var state = State(limit: 2)
        for (number, name) in ["a", "b"].enumerated() {
            #expect(state.addWaiter(name) == .opens)
            #expect(state.opened(number, at: .now).action.receiver == name)
        }
        let retired = state.retire(0)
        let retirement = try #require(retired)
        let refused = state.retire(1)
        #expect(refused == nil)
        #expect(state.leased == 1)
        #expect(state.addWaiter("c") == .waits)
        #expect(state.addWaiter("d") == .waits)
        #expect(state.lost(at: .now).openings == 1)
        #expect(state.opened(2, at: .now).action.receiver == "c")
        #expect(state.ended(retirement, at: .now).openings == 1)
        #expect(state.opened(3, at: .now).action.receiver == "d")
    }

    @Test func `closing a pool returns its retired connections, and it retires none afterwards`() throws {
        var state = State(limit: 2)
        for (number, name) in ["a", "b"].enumerated() {
            #expect(state.addWaiter(name) == .opens)
            #expect(state.opened(number, at: .now).action.receiver == name)
        }
        let retired = state.retire(0)
        let retirement = try #require(retired)
        #expect(state.close().unused == [0])
        let refused = state.retire(1)
        #expect(refused == nil)
        #expect(state.leased == 1)
        #expect(state.ended(retirement, at: .now) == State.Demand())
    }

    @Test func `the users of a share hold no more than its limit, and the rest goes to others`() {
        var state = State(limit: 3)
        let share = state.addShare(of: 1, within: .whole)
        #expect(state.addWaiter("a", of: share) == .opens)
        // An attempt for a waiter that may have no connection anyway would only add one.
        #expect(state.addWaiter("b", of: share) == .waits)
        #expect(state.addWaiter("c") == .opens)
        #expect(state.opened(1, at: .now).action.receiver == "a")
        #expect(state.opened(2, at: .now).action.receiver == "c", "b waits for its share")
        #expect(state.release(2, at: .now).isKept)
        #expect(state.lease(of: share) == nil)
        #expect(state.lease() == 2, "waiters of a full share are in the way of no other")
        #expect(state.release(1, of: share, at: .now).receiver == "b")
        #expect(state.release(2, at: .now).isKept)
        #expect(state.release(1, of: share, at: .now).isKept)
        #expect(state.lease(of: share) == 1)
        #expect(state.leased == 1)
    }

    @Test func `a share within a share counts for both`() {
        var state = State(limit: 4)
        let outer = state.addShare(of: 2, within: .whole)
        let inner = state.addShare(of: 1, within: outer)
        for (number, share) in [inner, outer].enumerated() {
            #expect(state.addWaiter("\(number)", of: share) == .opens)
            #expect(state.opened(number, at: .now).action.receiver == "\(number)")
        }
        #expect(state.addWaiter("x", of: inner) == .waits)
        #expect(state.addWaiter("y", of: outer) == .waits)
        #expect(state.release(1, of: outer, at: .now).receiver == "y", "inner is full")
        #expect(state.release(0, of: inner, at: .now).receiver == "x")
        #expect(state.addWaiter("z") == .opens)
    }

    @Test func `a connection that is lost or retired makes room in its share`() {
        var state = State(limit: 3)
        let share = state.addShare(of: 1, within: .whole)
        for (number, share) in [share, .whole, .whole].enumerated() {
            #expect(state.addWaiter("\(number)", of: share) == .opens)
            #expect(state.opened(number, at: .now).action.receiver == "\(number)")
        }
        #expect(state.addWaiter("a", of: share) == .waits)
        #expect(state.addWaiter("b", of: share) == .waits)
        #expect(state.release(1, at: .now).isKept)
        let retired = state.retire(0, of: share)
        #expect(retired != nil)
        #expect(state.serveIdle()?.waiter == "a")
        #expect(state.serveIdle()?.waiter == nil)
        #expect(state.release(2, at: .now).isKept)
        // The idle connection serves the waiter, so that none is opened.
        #expect(state.lost(of: share, at: .now) == State.Demand())
        #expect(state.serveIdle()?.waiter == "b")
    }

    private func record(_ problem: Comment) {
        Issue.record(problem)
    }
}

/// Whether a connection is opened for a new waiter.
private enum WaitAction: Equatable {
    case opens, waits
    case retries(at: ContinuousClock.Instant)
}

extension PoolState {
    /// Adds a waiter; nil if it does not have to wait.
    fileprivate mutating func addWaiter(
        _ continuation: Continuation,
        _ cancellation: CancellationFlag = CancellationFlag(),
        of share: PoolShare = .whole,
        at now: Instant = .now
    ) -> WaitAction? {
        guard case .waiting(let demand) = wait(continuation, cancellation, of: share, at: now) else { return nil }
        if let instant = demand.retryAt { return .retries(at: instant) }
        return demand.openings == 1 ? .opens : .waits
    }

    /// An attempt fails; the pause after it is as long as can be.
    fileprivate mutating func fail(at now: Instant) -> [Continuation] {
        var generator = Greatest()
        return openingFailed(PostgresError(.connectionFailed, "by test"), at: now, using: &generator)
    }
}

/// Draws the upper end of every range.
private struct Greatest: RandomNumberGenerator {
    mutating func next() -> UInt64 { .max }
}

extension PoolState.ReturnAction {
    fileprivate var receiver: Continuation? {
        if case .pass(let continuation) = self { return continuation }
        return nil
    }

    fileprivate var isKept: Bool {
        if case .keep = self { return true }
        return false
    }

    fileprivate var isDiscarded: Bool {
        if case .discard = self { return true }
        return false
    }
}
