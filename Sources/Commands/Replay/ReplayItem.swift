import AppStore

/// One body to be posted again, and where it comes from.
struct ReplayItem: Sendable {
    /// Its place: what a person looks for, and where to go on.
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

/// Hands out bodies one by one.
protocol ReplayBodies {
    /// The next one; nil at the end.
    mutating func next() async throws -> ReplayItem?
}
