import LivesTesting

extension Expectation {
    static func isEffect(_ line: String) -> Bool { line.hasPrefix("effect ") }

    /// What the reference model makes of the bodies that the inbox holds, life by life.
    static func reference(seed: UInt64, records: [BodyDigest: PostRecord], stored: [FinalState.Event]) async throws -> Expectation {
        let origins = Set(stored.map(\.digest)).compactMap { records[$0]?.origin }
        let chapters = Dictionary(grouping: origins, by: \.chapter)
        return try await withThrowingTaskGroup(of: [String].self) { group in
            // As many at once as there are threads: each holds a chapter's payloads.
            var waiting = Array(chapters)[...]
            for _ in 0..<4 {
                guard let (chapter, origins) = waiting.popFirst() else { break }
                group.addTask { try lines(of: chapter, seed: seed, origins) }
            }
            var expectation = Expectation()
            while let lines = try await group.next() {
                expectation.effects += lines.filter(isEffect)
                expectation.books += lines.filter { !isEffect($0) }
                if let (chapter, origins) = waiting.popFirst() {
                    group.addTask { try Self.lines(of: chapter, seed: seed, origins) }
                }
            }
            return expectation
        }
    }

    private static func lines(of chapter: Int, seed: UInt64, _ origins: [PostRecord.Origin]) throws -> [String] {
        let history = try History(seed: seed, index: chapter)
        let events = origins.compactMap { origin -> LifeEvent? in
            let event = history.events[origin.event]
            return Chapter.notification(at: origin, of: history).map {
                LifeEvent(id: event.id, receivedAt: event.receivedAt, content: .notification($0))
            }
        }
        return ReferenceModel(events: events, commands: []).lines()
    }
}
