import Synchronization

/// What the batches of this process are merging.
///
/// Two events about the same thing are merged one after the other, and who comes second waits until the batch of the first one is committed,
/// with everything else that is in his own. In a backlog of interleaved customers nearly every batch has such an event. So it is let go
/// instead and taken again soon, but once only, and unless so much of a batch would be that waiting costs less.
final class SubjectsInFlight: Sendable {
    private struct State {
        var batches: [ClaimedBatch.Lane: Set<String>] = [:]
        /// Events that were let go and have not been merged since, as far as is known here: another process may have them.
        var letGo: Set<Int64> = []
    }

    private let state = Mutex(State())

    /// At most one of so many events of a batch is let go.
    private static var share: Int { 4 }
    /// How many events are remembered as let go.
    private static var memory: Int { 10_000 }

    /// Takes up what the events of a batch are about, and says which of them are to be let go because another batch has it.
    func enter(_ lane: ClaimedBatch.Lane, with subjects: [(eventID: Int64, names: [String])]) -> Set<Int64> {
        state.withLock { state in
            func isInHand(_ name: String) -> Bool { state.batches.values.contains { $0.contains(name) } }
            let contested = subjects.filter { $0.names.contains(where: isInHand) && !state.letGo.contains($0.eventID) }
            let letGo = Set(contested.count * Self.share <= subjects.count ? contested.map(\.eventID) : [])
            let kept = subjects.filter { !letGo.contains($0.eventID) }
            state.batches[lane] = Set(kept.flatMap(\.names))
            if state.letGo.count > Self.memory { state.letGo = [] }
            state.letGo.formUnion(letGo)
            state.letGo.subtract(kept.map(\.eventID))
            return letGo
        }
    }

    /// The batch was committed or rolled back.
    func leave(_ lane: ClaimedBatch.Lane) {
        state.withLock { _ = $0.batches.removeValue(forKey: lane) }
    }
}
