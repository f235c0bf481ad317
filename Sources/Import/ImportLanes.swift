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
    /// What a request without an answer tells.
    enum Silence: Sendable {
        /// It may be about the item.
        case ofItem
        /// The lane is silent: no item is to blame, unless it has been for a day.
        case ofLane(isLong: Bool)
    }

    private struct State {
        var taken = 0
        var restsUntil: ContinuousClock.Instant?
        /// Ids without an answer since the last one.
        var silent: Set<String> = []
        var silentSince: ContinuousClock.Instant?
        /// Rests since the last answer.
        var rests = 0
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
                if let end = state.restsUntil, end > now { return nil }
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
            if let end = state.restsUntil, end > now { return }
            state.rests += 1
            state.restsUntil = now + backoff.delay(afterFailures: state.rests, using: &generator)
            states[lane] = state
        }
    }

    func isSilent(_ lane: ImportLane) -> Bool { states.withLock { $0[lane, default: State()].silent.count >= Self.limit } }

    /// Apple has answered something.
    func hear(_ lane: ImportLane) {
        states.withLock { states in
            states[lane, default: State()].silent = []
            states[lane, default: State()].silentSince = nil
            states[lane, default: State()].rests = 0
        }
    }

    func miss(_ id: String, in lane: ImportLane, at now: ContinuousClock.Instant) -> Silence {
        states.withLock { states in
            var state = states[lane, default: State()]
            defer { states[lane] = state }
            let since = state.silentSince ?? now
            state.silentSince = since
            if state.silent.count < Self.limit { state.silent.insert(id) }
            return state.silent.count < Self.limit ? .ofItem : .ofLane(isLong: now - since > .seconds(86_400))
        }
    }
}
