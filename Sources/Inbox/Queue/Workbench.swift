import Glibc
import Synchronization

/// Where the events of a batch are prepared. A few tasks take one after the other from here, so that an event costs no task of its own, and one
/// that takes too long keeps nobody back but itself.
final class Workbench<Prepared: Sendable>: Sendable {
    /// How far an event has come.
    enum Stage: Sendable {
        /// Can transition to: begun.
        case waiting
        /// Can transition to: prepared.
        case begun
        case prepared(Prepared)
    }

    private struct State {
        var stages: [Stage]
        var next = 0
        var isClosed = false
    }

    private let events: [ClaimedEvent]
    private let prepare: @Sendable (ClaimedEvent) async -> Prepared
    private let state: Mutex<State>

    init(_ events: [ClaimedEvent], prepare: @escaping @Sendable (ClaimedEvent) async -> Prepared) {
        self.events = events
        self.prepare = prepare
        state = Mutex(State(stages: Array(repeating: .waiting, count: events.count)))
    }

    /// How many tasks are of use: one for each core, but two at least, so that there is always another one.
    static var places: Int { max(2, sysconf(Int32(_SC_NPROCESSORS_ONLN))) }

    /// Prepares one event after the other until all are begun.
    func work() async {
        while let index = begin() {
            let prepared = await prepare(events[index])
            state.withLock { $0.stages[index] = .prepared(prepared) }
        }
    }

    /// Ends the work, except on events that are begun, and says how far each has come.
    func close() -> [Stage] {
        state.withLock { state in
            state.isClosed = true
            return state.stages
        }
    }

    private func begin() -> Int? {
        state.withLock { state in
            guard !state.isClosed, state.next < state.stages.count else { return nil }
            defer { state.next += 1 }
            state.stages[state.next] = .begun
            return state.next
        }
    }
}
