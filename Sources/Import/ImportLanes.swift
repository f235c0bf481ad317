import Outbox
import Postgres
import Synchronization

/// What imports ask of an app and environment by one endpoint, which has a budget of its own.
struct ImportLane: Hashable, Sendable {
    let app: CallLane
    let depth: ImportChunk.Depth
}

/// The chunks that this process can still lease, and the lanes that rest.
final class ImportLanes: Sendable {
    private struct State {
        var taken = 0
        var restsUntil: ContinuousClock.Instant?
        /// Ids without an answer since the last one.
        var silent: Set<String> = []
        /// Rests for this since the last answer, which ends the one that lasts.
        var rests = 0
        var silentUntil: ContinuousClock.Instant?
    }

    /// Ids without an answer, and none with one between them, after which the lane is silent.
    private static let limit = 3

    private let perLane: Int
    private let backoff: Backoff
    private let states = Mutex<[ImportLane: State]>([:])

    /// - Parameter backoff: the rests of a lane that is silent.
    init(perLane: Int, backoff: Backoff) {
        self.perLane = perLane
        self.backoff = backoff
    }

    func free(of lanes: [ImportLane], at now: ContinuousClock.Instant) -> [(lane: ImportLane, count: Int)] {
        states.withLock { states in
            lanes.compactMap { lane -> (lane: ImportLane, count: Int)? in
                let state = states[lane, default: State()]
                if let end = [state.restsUntil, state.silentUntil].compactMap(\.self).max(), end > now { return nil }
                return state.taken < perLane ? (lane, perLane - state.taken) : nil
            }
        }
    }

    func acquire(_ lane: ImportLane) { states.withLock { $0[lane, default: State()].taken += 1 } }
    func release(_ lane: ImportLane) { states.withLock { $0[lane, default: State()].taken -= 1 } }

    func rest(_ lane: ImportLane, until instant: ContinuousClock.Instant) {
        states.withLock { states in
            let end = states[lane]?.restsUntil ?? instant
            states[lane, default: State()].restsUntil = max(end, instant)
        }
    }

    /// Lets a silent lane rest, longer each time. Its chunks end one after the other: the first one begins the rest.
    func restSilently(_ lane: ImportLane, at now: ContinuousClock.Instant) {
        var generator = SystemRandomNumberGenerator()
        states.withLock { states in
            var state = states[lane, default: State()]
            if let end = state.silentUntil, end > now { return }
            state.rests += 1
            state.silentUntil = now + backoff.delay(afterFailures: state.rests, using: &generator)
            states[lane] = state
        }
    }

    func isSilent(_ lane: ImportLane) -> Bool { states.withLock { $0[lane, default: State()].silent.count >= Self.limit } }

    /// Apple has answered something.
    func hear(_ lane: ImportLane) {
        states.withLock { states in
            states[lane, default: State()].silent = []
            states[lane, default: State()].rests = 0
            states[lane, default: State()].silentUntil = nil
        }
    }

    /// Apple has not answered for this id. Returns whether the lane is silent: then the id may not be to blame.
    func miss(_ id: String, in lane: ImportLane) -> Bool {
        states.withLock { states in
            var silent = states[lane, default: State()].silent
            if silent.count < Self.limit { silent.insert(id) }
            states[lane, default: State()].silent = silent
            return silent.count >= Self.limit
        }
    }
}
