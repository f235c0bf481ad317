/// An event or a range of events on the command line: `4711` or `4711-4720`.
struct EventSelection: Hashable, Sendable {
    let events: ClosedRange<Int64>

    /// Nil when the text is neither.
    init?(_ text: String) {
        let ends = text.split(separator: "-", omittingEmptySubsequences: false).map { Int64($0) }
        guard (1...2).contains(ends.count), let first = ends[0], let last = ends[ends.count - 1], first >= 1, first <= last else {
            return nil
        }
        events = first...last
    }

    /// Whether a single event is named. It is an error if that event does not exist.
    var isSingle: Bool { events.lowerBound == events.upperBound }
}
