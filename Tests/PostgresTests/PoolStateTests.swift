import Testing

@testable import Postgres

@Suite struct PoolStateTests {
    private typealias State = PoolState<Int, String>

    @Test func `connections are opened up to the limit, and the last used one is lent first`() {
        var state = State(limit: 2)
        #expect(state.acquire() == nil)
        #expect(state.join("a") == .opens)
        #expect(state.join("b") == .opens)
        #expect(state.join("c") == .waits)
        #expect(state.opened(1, at: .now).receiver == "a")
        #expect(state.opened(2, at: .now).receiver == "b")
        #expect(state.restore(1, at: .now).receiver == "c")
        #expect(state.restore(2, at: .now).isKept)
        #expect(state.restore(1, at: .now).isKept)
        #expect(state.acquire() == 1)
        #expect(state.acquire() == 2)
        #expect(state.acquire() == nil)
        #expect(state.lent == 2)
    }

    @Test func `the first in line gets what comes back, and nobody overtakes`() {
        var state = State(limit: 1)
        let tickets = (0..<3).map { _ in Ticket() }
        for (name, ticket) in zip(["a", "b", "c"], tickets) { _ = state.join(name, ticket) }
        #expect(state.opened(7, at: .now).receiver == "a")
        #expect(state.withdraw(tickets[1]) == "b")
        #expect(state.restore(7, at: .now).receiver == "c")
        #expect(state.acquire() == nil)
        #expect(state.withdraw(tickets[0]) == nil)
        let vacancy = state.lost()
        #expect(vacancy.refused == nil && !vacancy.opens)
        #expect(state.lent == 0)
    }

    @Test func `what was opened for a task that has gone is for the next one, or idle`() {
        var state = State(limit: 2)
        let ticket = Ticket()
        #expect(state.join("a", ticket) == .opens)
        #expect(state.withdraw(ticket) == "a")
        // The first opening may still take long, so that this task has one of its own; it takes what comes first.
        #expect(state.join("b") == .opens)
        #expect(state.join("c") == .waits)
        #expect(state.opened(1, at: .now).receiver == "b")
        #expect(state.opened(2, at: .now).receiver == "c")
        #expect(state.restore(1, at: .now).isKept)
        #expect(state.openings == 0)
        #expect(state.lent == 1)
    }

    @Test func `tasks that come and go have no more connections opened than there are slots`() {
        var state = State(limit: 3)
        var openings = 0
        for number in 0..<100 {
            let ticket = Ticket()
            openings += state.join("\(number)", ticket) == .opens ? 1 : 0
            #expect(state.withdraw(ticket) != nil)
        }
        #expect(openings == 3)
        for number in 0..<3 { #expect(state.opened(number, at: .now).isKept) }
        #expect(state.slots == ConnectionPool.Slots(idle: 3))
    }

    @Test func `a failed opening is told to the first in line, unless there is another one for him`() {
        var state = State(limit: 2)
        let ticket = Ticket()
        #expect(state.join("gone", ticket) == .opens)
        #expect(state.withdraw(ticket) == "gone")
        #expect(state.join("a") == .opens)
        var vacancy = state.openingFailed()
        #expect(vacancy.refused == nil && !vacancy.opens)
        #expect(state.join("b") == .opens)
        #expect(state.join("c") == .waits)
        vacancy = state.openingFailed()
        #expect(vacancy.refused == "a" && vacancy.opens)
        #expect(state.openings == 2)
    }

    @Test func `for a lost connection another one is opened, when somebody waits for it`() {
        var state = State(limit: 1)
        #expect(state.join("a") == .opens)
        #expect(state.opened(1, at: .now).receiver == "a")
        #expect(state.join("b") == .waits)
        let vacancy = state.lost()
        #expect(vacancy.refused == nil && vacancy.opens)
        #expect(state.openings == 1)
    }

    @Test func `a ticket that was cancelled on the way does not wait`() {
        var state = State(limit: 1)
        let ticket = Ticket()
        ticket.cancel()
        guard case .cancelled = state.wait("a", ticket) else { return record("it is cancelled") }
        #expect(state.openings == 0)
    }

    @Test func `connections that have been idle for long are taken out`() {
        var state = State(limit: 3)
        let start = ContinuousClock.now
        for number in 0..<3 { _ = state.join("\(number)") }
        for number in 0..<3 { _ = state.opened(number, at: start) }
        for number in 0..<3 { _ = state.restore(number, at: start + .seconds(number)) }
        #expect(state.expire(before: start + .seconds(2)) == [0, 1])
        #expect(state.slots.idle == 1)
    }

    @Test func `a closed pool keeps nothing, neither what comes back nor what is opened`() {
        var state = State(limit: 4)
        let ticket = Ticket()
        #expect(state.join("gone", ticket) == .opens)
        #expect(state.withdraw(ticket) == "gone")
        for (number, name) in ["a", "b"].enumerated() {
            #expect(state.join(name) == .opens)
            #expect(state.opened(number, at: .now).receiver == name)
        }
        #expect(state.restore(0, at: .now).isKept)
        #expect(state.close().unused == [0])
        #expect(state.acquire() == nil)
        guard case .closed = state.wait("d", Ticket()) else { return record("it is closed") }
        #expect(state.restore(1, at: .now).isDiscarded)
        #expect(state.openings == 1)
        #expect(state.opened(2, at: .now).isDiscarded)
        #expect(state.lent == 0 && state.openings == 0)
    }

    @Test func `a retired connection keeps its slot until it has ended, but for the last one`() throws {
        var state = State(limit: 2)
        for (number, name) in ["a", "b"].enumerated() {
            #expect(state.join(name) == .opens)
            #expect(state.opened(number, at: .now).receiver == name)
        }
        let retired = state.retire(0)
        let retirement = try #require(retired)
        let refused = state.retire(1)
        #expect(refused == nil)
        #expect(state.lent == 1)
        #expect(state.join("c") == .waits)
        #expect(state.join("d") == .waits)
        #expect(state.lost().opens)
        #expect(state.opened(2, at: .now).receiver == "c")
        #expect(state.ended(retirement).opens)
        #expect(state.opened(3, at: .now).receiver == "d")
    }

    @Test func `a closed pool has its retired connections closed, and retires no more`() throws {
        var state = State(limit: 2)
        for (number, name) in ["a", "b"].enumerated() {
            #expect(state.join(name) == .opens)
            #expect(state.opened(number, at: .now).receiver == name)
        }
        let retired = state.retire(0)
        let retirement = try #require(retired)
        #expect(state.close().unused == [0])
        let refused = state.retire(1)
        #expect(refused == nil)
        #expect(state.lent == 1)
        let vacancy = state.ended(retirement)
        #expect(vacancy.refused == nil && !vacancy.opens)
    }

    private func record(_ problem: Comment) {
        Issue.record(problem)
    }
}

/// Whether a connection is opened for a task that has joined the line.
private enum Place {
    case opens, waits
}

extension PoolState {
    /// Puts a waiter in line, who must not be served at once.
    fileprivate mutating func join(_ waiter: Waiter, _ ticket: Ticket = Ticket()) -> Place? {
        guard case .waiting(let opens) = wait(waiter, ticket) else { return nil }
        return opens ? .opens : .waits
    }
}

extension PoolState.Return {
    fileprivate var receiver: Waiter? {
        if case .pass(let waiter) = self { return waiter }
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
