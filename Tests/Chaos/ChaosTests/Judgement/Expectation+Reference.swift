import LivesTesting

extension Expectation {
    static func isEffect(_ line: String) -> Bool { line.hasPrefix("effect ") }

    /// Computes the ledger from the stored bodies with the reference model, segment by segment.
    static func reference(seed: UInt64, records: [BodyDigest: PostRecord], stored: [FinalState.Event]) async throws -> Expectation {
        let origins = Set(stored.map(\.digest)).compactMap { records[$0]?.origin }
        let segments = Dictionary(grouping: origins, by: \.segment)
        return try await withThrowingTaskGroup(of: [String].self) { group in
            // Four at once: each holds the payloads of a segment in memory.
            var waiting = Array(segments)[...]
            for _ in 0..<4 {
                guard let (segment, origins) = waiting.popFirst() else { break }
                group.addTask { try lines(of: segment, seed: seed, origins) }
            }
            var expectation = Expectation()
            while let lines = try await group.next() {
                expectation.effects += lines.filter(isEffect)
                expectation.ledger += lines.filter { !isEffect($0) }
                if let (segment, origins) = waiting.popFirst() {
                    group.addTask { try Self.lines(of: segment, seed: seed, origins) }
                }
            }
            return expectation
        }
    }

    private static func lines(of segment: Int, seed: UInt64, _ origins: [PostRecord.Origin]) throws -> [String] {
        let history = try History(seed: seed, index: segment)
        let events = origins.compactMap { origin -> LifeEvent? in
            let event = history.events[origin.event]
            return LoadSegment.notification(at: origin, of: history).map {
                LifeEvent(id: event.id, receivedAt: event.receivedAt, content: .notification($0))
            }
        }
        return ReferenceModel(events: events, commands: []).lines()
    }
}
