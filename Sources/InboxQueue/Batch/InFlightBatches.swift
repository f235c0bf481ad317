import Synchronization

/// What the batches of this process are merging, and which events of failed ones are being run one by one.
///
/// Two events of one contract are merged one after the other: the second batch waits at the contract's lock until the first one has committed,
/// with all other events that it has. In a backlog of interleaved customers nearly every batch would wait so. Instead an event whose contract
/// another batch has is released, and claimed again with one of the next batches.
///
/// Two limits keep that from going on for ever. An event is released a few times only, so that a contract that is never free does not starve it.
/// A batch of which most events would be released keeps them all and waits, so that a backlog of one contract is not claimed again and again.
final class InFlightBatches: Sendable {
    private struct State {
        /// The events of failed batches, until each of them has run by itself.
        var failed: [QueueStatements.Lane: Set<Int64>] = [:]
        /// What each batch is merging.
        var subjects: [QueueStatements.Lane: Set<String>] = [:]
        /// How often events were released that have not been merged since, as far as this process knows: another one may have merged them.
        var releases: [Int64: Int] = [:]
    }

    private let state = Mutex(State())

    /// How often one event is released.
    private static var maximumReleases: Int { 16 }
    /// How many released events are remembered.
    private static var memory: Int { 10_000 }

    /// Takes up what the events of a batch are about, and returns those to release because another batch has the same.
    func enter(_ lane: QueueStatements.Lane, with subjects: [(eventID: Int64, names: [String])]) -> Set<Int64> {
        state.withLock { state in
            func isInFlight(_ name: String) -> Bool { state.subjects.values.contains { $0.contains(name) } }
            let contested = subjects.filter {
                $0.names.contains(where: isInFlight) && state.releases[$0.eventID, default: 0] < Self.maximumReleases
            }
            let released = Set(contested.count * 2 <= subjects.count ? contested.map(\.eventID) : [])
            let kept = subjects.filter { !released.contains($0.eventID) }
            state.subjects[lane] = Set(kept.flatMap(\.names))
            if state.releases.count > Self.memory { state.releases = [:] }
            for event in released { state.releases[event, default: 0] += 1 }
            for event in kept where !state.releases.isEmpty { state.releases[event.eventID] = nil }
            return released
        }
    }

    /// The transaction of the batch has ended.
    func leave(_ lane: QueueStatements.Lane) {
        state.withLock { _ = $0.subjects.removeValue(forKey: lane) }
    }

    /// The batch has failed because of one of these events, which are run one by one until ``end(_:)``.
    func failed(_ events: [Int64], in lane: QueueStatements.Lane) {
        state.withLock { $0.failed[lane] = Set(events) }
    }

    /// Those of claimed events that another loop is running one by one: no batch may fail because of them again.
    func failed(among events: [Int64]) -> Set<Int64> {
        state.withLock { state in state.failed.values.reduce(into: []) { $0.formUnion($1.intersection(events)) } }
    }

    /// The events of a failed batch have run.
    func end(_ lane: QueueStatements.Lane) {
        state.withLock { _ = $0.failed.removeValue(forKey: lane) }
    }
}
