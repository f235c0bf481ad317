/// Where the feed ends.
package struct FeedEnd: Sendable, Hashable, Comparable {
    /// Raised when positions come to mean something else.
    package let generation: Int32
    /// The latest position; 0 before the first entry.
    package let position: Int64

    package init(generation: Int32, position: Int64) {
        (self.generation, self.position) = (generation, position)
    }

    /// Whether a server whose feed ends at `left` may lack changes that one whose feed ends at `right` has.
    package static func < (left: FeedEnd, right: FeedEnd) -> Bool {
        (left.generation, left.position) < (right.generation, right.position)
    }
}
