import AppStore

/// One body to be posted again, and its origin.
struct ReplayItem: Sendable {
    /// The body's place, which reports name and from which a replay can continue.
    enum Origin: Hashable, Comparable, Sendable {
        /// Counted from 1.
        case line(Int)
        case event(Int64)
    }

    let origin: Origin
    let content: Content

    enum Content: Sendable {
        case body([UInt8], as: NotificationV1Body.Kind)
        /// Why there is nothing to post.
        case none(reason: String)
    }
}

/// A source of bodies.
protocol ReplayBodies {
    /// The next one; nil at the end.
    mutating func next() async throws -> ReplayItem?
}
