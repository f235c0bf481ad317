/// Work on all processors.
enum Parallel {
    /// Transforms the elements in parallel and keeps their order.
    static func map<Element: Sendable, Value: Sendable>(
        _ elements: [Element],
        _ transform: @escaping @Sendable (Element) throws -> Value
    ) async throws -> [Value] {
        let size = max(1, elements.count / (Machine.processorCount * 4))
        return try await withThrowingTaskGroup(of: (Int, [Value]).self) { group in
            for start in stride(from: 0, to: elements.count, by: size) {
                let part = elements[start..<min(start + size, elements.count)]
                group.addTask { (start, try part.map(transform)) }
            }
            var parts: [(Int, [Value])] = []
            for try await part in group { parts.append(part) }
            return parts.sorted { $0.0 < $1.0 }.flatMap(\.1)
        }
    }
}
