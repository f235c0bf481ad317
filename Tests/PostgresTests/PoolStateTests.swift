import Testing

@testable import Postgres

@Suite struct PoolStateTests {
    private typealias State = PoolState<Int, String>

    @Test func `slots are given up to the limit, the last used connection first`() {
        var state = State(limit: 2)
        #expect(state.acquire()?.isSlot == true)
        #expect(state.acquire()?.isSlot == true)
        #expect(state.acquire() == nil)
        _ = state.restore(1, at: .now)
        _ = state.restore(2, at: .now)
        #expect(state.acquire()?.value == 2)
        #expect(state.acquire()?.value == 1)
        #expect(state.acquire() == nil)
        #expect(state.lent == 2)
    }

    @Test func `the first in line gets what comes back, and nobody overtakes`() {
        var state = State(limit: 1)
        #expect(state.acquire()?.isSlot == true)
        let tickets = (0..<3).map { _ in Ticket() }
        for (name, ticket) in zip(["a", "b", "c"], tickets) {
            guard case .waiting = state.wait(name, ticket) else { return record("\(name) should wait") }
        }
        #expect(state.withdraw(tickets[1]) == "b")
        guard case .pass("a", .resource(7)) = state.restore(7, at: .now) else { return record("a is first") }
        #expect(state.acquire() == nil)
        #expect(state.withdraw(tickets[0]) == nil)
        guard case .pass("c", .slot) = state.release() else { return record("c is next") }
        #expect(state.lent == 1)
        guard case .discard = state.release() else { return record("nobody waits") }
        #expect(state.lent == 0)
    }

    @Test func `a ticket that was cancelled on the way does not wait`() {
        var state = State(limit: 1)
        let ticket = Ticket()
        ticket.cancel()
        guard case .cancelled = state.wait("a", ticket) else { return record("it is cancelled") }
        #expect(state.lent == 0)
    }

    @Test func `connections that have been idle for long are taken out`() {
        var state = State(limit: 3)
        for _ in 0..<3 { _ = state.acquire() }
        let start = ContinuousClock.now
        for number in 0..<3 { _ = state.restore(number, at: start + .seconds(number)) }
        #expect(state.expire(before: start + .seconds(2)) == [0, 1])
        #expect(state.idleCount == 1)
    }

    @Test func `a closed pool keeps nothing`() {
        var state = State(limit: 2)
        _ = state.acquire()
        _ = state.acquire()
        _ = state.restore(1, at: .now)
        #expect(state.close().idle == [1])
        #expect(state.acquire() == nil)
        guard case .discard = state.restore(2, at: .now) else { return record("it should be discarded") }
        #expect(state.lent == 0)
    }

    private func record(_ problem: Comment) {
        Issue.record(problem)
    }
}

extension PoolGrant {
    fileprivate var isSlot: Bool {
        if case .slot = self { return true }
        return false
    }

    fileprivate var value: Resource? {
        if case .resource(let resource) = self { return resource }
        return nil
    }
}
