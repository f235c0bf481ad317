import Outbox
import Postgres
import ServerAPI
import Synchronization
import Systemd

extension HistoryService {
    /// Makes windows, leases them, and reads each in a task of its own, until those in flight are released. The near walk has slots of its own:
    /// days of the past do not delay it.
    func readWindows(through exchange: Exchange) async {
        let heartbeat = heartbeat()
        defer { heartbeat.finish() }
        await withDiscardingTaskGroup { group in
            var nextPlanAt = ContinuousClock.now
            await database.takeSteps(backingOff: configuration.outage) {
                heartbeat.beat()
                let lanes = client.lanes.sorted()
                if !lanes.isEmpty, .now >= nextPlanAt {
                    try await store.plan(lanes)
                    try await store.classify()
                    nextPlanAt = .now + configuration.planPause
                }
                // Without those whose keys Apple refuses: another worker may have a better key, or a better clock.
                for window in try await lease(client.openLanes.sorted()) {
                    slots.acquire(window)
                    group.addTask { await read(window, through: exchange) }
                }
                return configuration.pollPause
            }
        }
    }

    private func lease(_ lanes: [CallLane]) async throws -> [HistoryWindow] {
        let (lanes, near, days) = slots.free(for: lanes, at: .now)
        guard !lanes.isEmpty, near + days > 0 else { return [] }
        return try await store.lease(lanes, near: near, days: days)
    }

    private func read(_ window: HistoryWindow, through exchange: Exchange) async {
        let heartbeat = heartbeat()
        defer { heartbeat.finish() }
        let walk = HistoryWalk(
            store: store,
            client: client,
            exchange: exchange,
            backoff: configuration.backoff,
            metrics: metrics,
            logger: logger,
            beat: heartbeat.beat
        )
        do {
            if case .rests(let delay) = try await walk.run(window) { slots.rest(window.lane, until: .now + delay) }
        } catch {
            database.failed(error)
        }
        slots.release(window)
    }
}

/// The windows that this process can still lease, and the apps that rest.
final class HistorySlots: Sendable {
    private struct State {
        var near: Int
        var days: Int
        var resting: [CallLane: ContinuousClock.Instant] = [:]
    }

    private let state: Mutex<State>

    init(near: Int, days: Int) {
        state = Mutex(State(near: near, days: days))
    }

    func free(for lanes: [CallLane], at now: ContinuousClock.Instant) -> (lanes: [CallLane], near: Int, days: Int) {
        state.withLock { state in
            state.resting = state.resting.filter { $0.value > now }
            return (lanes.filter { state.resting[$0] == nil }, state.near, state.days)
        }
    }

    func acquire(_ window: HistoryWindow) { change(window, by: -1) }
    func release(_ window: HistoryWindow) { change(window, by: 1) }
    func rest(_ lane: CallLane, until instant: ContinuousClock.Instant) { state.withLock { $0.resting[lane] = instant } }

    private func change(_ window: HistoryWindow, by count: Int) {
        state.withLock { state in
            if window.isNear { state.near += count } else { state.days += count }
        }
    }
}
