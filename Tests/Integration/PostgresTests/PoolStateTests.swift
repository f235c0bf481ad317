import Testing

@testable import Postgres

@Suite struct PoolStateTests {
    private typealias State = PoolState<Int, String>

    @Test func `connections are opened up to the limit, and the most recently used one is lent first`() {
        var state = State(limit: 2)
        #expect(state.acquire() == nil)
        #expect(state.addWaiter("a") == .opens)
        #expect(state.addWaiter("b") == .opens)
        #expect(state.addWaiter("c") == .waits)
        #expect(state.opened(1, at: .now).receiver == "a")
        #expect(state.opened(2, at: .now).receiver == "b")
        #expect(state.release(1, at: .now).receiver == "c")
        #expect(state.release(2, at: .now).isKept)
        #expect(state.release(1, at: .now).isKept)
        #expect(state.acquire() == 1)
        #expect(state.acquire() == 2)
        #expect(state.acquire() == nil)
        #expect(state.lent == 2)
    }

    @Test func `the first waiter gets a returned connection before any new caller`() {
        var state = State(limit: 1)
        let cancellations = (0..<3).map { _ in CancellationFlag() }
        for (name, cancellation) in zip(["a", "b", "c"], cancellations) { _ = state.addWaiter(name, cancellation) }
        #expect(state.opened(7, at: .now).receiver == "a")
        #expect(state.withdraw(cancellations[1]) == "b")
        #expect(state.release(7, at: .now).receiver == "c")
        #expect(state.acquire() == nil)
        #expect(state.withdraw(cancellations[0]) == nil)
        let action = state.lost()
        #expect(action.refused == nil && !action.opens)
        #expect(state.lent == 0)
    }

    @Test func `a connection opened for a withdrawn waiter goes to the next waiter or becomes idle`() {
        var state = State(limit: 2)
        let cancellation = CancellationFlag()
        #expect(state.addWaiter("a", cancellation) == .opens)
        #expect(state.withdraw(cancellation) == "a")
        // The first attempt may still take long, so this waiter gets a second one and takes the first result.
        #expect(state.addWaiter("b") == .opens)
        #expect(state.addWaiter("c") == .waits)
        #expect(state.opened(1, at: .now).receiver == "b")
        #expect(state.opened(2, at: .now).receiver == "c")
        #expect(state.release(1, at: .now).isKept)
        #expect(state.openings == 0)
        #expect(state.lent == 1)
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
        for number in 0..<3 { #expect(state.opened(number, at: .now).isKept) }
        #expect(state.slots == ConnectionPool.Slots(idle: 3))
    }

    @Test func `the first waiter gets the error of a failed attempt, unless another attempt is in flight for it`() {
        var state = State(limit: 2)
        let cancellation = CancellationFlag()
        #expect(state.addWaiter("withdrawn", cancellation) == .opens)
        #expect(state.withdraw(cancellation) == "withdrawn")
        #expect(state.addWaiter("a") == .opens)
        var action = state.openingFailed()
        #expect(action.refused == nil && !action.opens)
        #expect(state.addWaiter("b") == .opens)
        #expect(state.addWaiter("c") == .waits)
        action = state.openingFailed()
        #expect(action.refused == "a" && action.opens)
        #expect(state.openings == 2)
    }

    @Test func `a lost connection is replaced if there is a waiter`() {
        var state = State(limit: 1)
        #expect(state.addWaiter("a") == .opens)
        #expect(state.opened(1, at: .now).receiver == "a")
        #expect(state.addWaiter("b") == .waits)
        let action = state.lost()
        #expect(action.refused == nil && action.opens)
        #expect(state.openings == 1)
    }

    @Test func `a task that was cancelled before it waits is refused`() {
        var state = State(limit: 1)
        let cancellation = CancellationFlag()
        cancellation.cancel()
        guard case .cancelled = state.wait("a", cancellation) else { return record("not cancelled") }
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

    @Test func `a closed pool discards connections that are returned or opened`() {
        var state = State(limit: 4)
        let cancellation = CancellationFlag()
        #expect(state.addWaiter("withdrawn", cancellation) == .opens)
        #expect(state.withdraw(cancellation) == "withdrawn")
        for (number, name) in ["a", "b"].enumerated() {
            #expect(state.addWaiter(name) == .opens)
            #expect(state.opened(number, at: .now).receiver == name)
        }
        #expect(state.release(0, at: .now).isKept)
        #expect(state.close().unused == [0])
        #expect(state.acquire() == nil)
        guard case .closed = state.wait("d", CancellationFlag()) else { return record("not closed") }
        #expect(state.release(1, at: .now).isDiscarded)
        #expect(state.openings == 1)
        #expect(state.opened(2, at: .now).isDiscarded)
        #expect(state.lent == 0 && state.openings == 0)
    }

    @Test func `a retired connection keeps its slot until it has ended, except in the last slot`() throws {
        var state = State(limit: 2)
        for (number, name) in ["a", "b"].enumerated() {
            #expect(state.addWaiter(name) == .opens)
            #expect(state.opened(number, at: .now).receiver == name)
        }
        let retired = state.retire(0)
        let retirement = try #require(retired)
        let refused = state.retire(1)
        #expect(refused == nil)
        #expect(state.lent == 1)
        #expect(state.addWaiter("c") == .waits)
        #expect(state.addWaiter("d") == .waits)
        #expect(state.lost().opens)
        #expect(state.opened(2, at: .now).receiver == "c")
        #expect(state.ended(retirement).opens)
        #expect(state.opened(3, at: .now).receiver == "d")
    }

    @Test func `closing a pool returns its retired connections, and it retires none afterwards`() throws {
        var state = State(limit: 2)
        for (number, name) in ["a", "b"].enumerated() {
            #expect(state.addWaiter(name) == .opens)
            #expect(state.opened(number, at: .now).receiver == name)
        }
        let retired = state.retire(0)
        let retirement = try #require(retired)
        #expect(state.close().unused == [0])
        let refused = state.retire(1)
        #expect(refused == nil)
        #expect(state.lent == 1)
        let action = state.ended(retirement)
        #expect(action.refused == nil && !action.opens)
    }

    private func record(_ problem: Comment) {
        Issue.record(problem)
    }
}

/// Whether a connection is opened for a new waiter.
private enum WaitAction {
    case opens, waits
}

extension PoolState {
    /// Adds a waiter; nil if it does not have to wait.
    fileprivate mutating func addWaiter(
        _ continuation: Continuation,
        _ cancellation: CancellationFlag = CancellationFlag()
    ) -> WaitAction? {
        guard case .waiting(let opens) = wait(continuation, cancellation) else { return nil }
        return opens ? .opens : .waits
    }
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
