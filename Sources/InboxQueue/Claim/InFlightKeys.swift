import Synchronization

/// What the batches of this process are merging.
///
/// Two events of one contract are merged one after the other: the second batch waits at the contract's lock until the first one has committed,
/// with all other events that it has. In a backlog of interleaved customers nearly every batch would wait so. Instead an event whose contract
/// another batch has is released, and claimed again with one of the next batches.
///
/// Two limits keep that from going on for ever. An event is released a few times only, so that a contract that is never free does not starve it.
/// A batch of which most events would be released keeps them all and waits, so that a backlog of one contract is not claimed again and again.
final class InFlightKeys: Sendable {
    private struct State {
        var batches: [QueueStatements.Lane: Set<String>] = [:]
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
            func isInHand(_ name: String) -> Bool { state.batches.values.contains { $0.contains(name) } }
            let contested = subjects.filter {
                $0.names.contains(where: isInHand) && state.releases[$0.eventID, default: 0] < Self.maximumReleases
            }
            let released = Set(contested.count * 2 <= subjects.count ? contested.map(\.eventID) : [])
            let kept = subjects.filter { !released.contains($0.eventID) }
            state.batches[lane] = Set(kept.flatMap(\.names))
            if state.releases.count > Self.memory { state.releases = [:] }
            for event in released { state.releases[event, default: 0] += 1 }
            for event in kept where !state.releases.isEmpty { state.releases[event.eventID] = nil }
            return released
        }
    }

    /// The batch was committed or rolled back.
    func leave(_ lane: QueueStatements.Lane) {
        state.withLock { _ = $0.batches.removeValue(forKey: lane) }
    }
}
