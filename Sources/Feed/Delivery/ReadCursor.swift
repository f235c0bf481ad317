/// How far a feed was read, and how far all that was read is finished.
struct ReadCursor: Hashable, Sendable {
    /// The last position that was read.
    private(set) var through: Int64
    /// Read and not finished.
    private var open: Set<Int64> = []
    /// Finished before an earlier one.
    private var ahead: Set<Int64> = []

    init(_ position: Int64) {
        through = position
    }

    /// Everything up to it is finished.
    var position: Int64 { min(through, (open.min() ?? .max) - 1) }

    /// Whether all that was read is finished, or was given back.
    var isFinished: Bool { open.isEmpty }

    /// Positions that a new read must not bring again. It begins after ``through``, where only what was read before something was given back is.
    var known: [Int64] { open.union(ahead).filter { $0 > through } }

    /// False for one that is known.
    mutating func take(_ position: Int64) -> Bool {
        !ahead.contains(position) && open.insert(position).inserted
    }

    mutating func read(through position: Int64) {
        through = max(through, position)
        prune()
    }

    mutating func finish(_ position: Int64) {
        let isFirst = position == open.min()
        guard open.remove(position) != nil else { return }
        ahead.insert(position)
        if isFirst { prune() }
    }

    private mutating func prune() {
        let position = position
        ahead = ahead.filter { $0 > position }
    }

    /// Gives one back, to be read again.
    mutating func release(_ position: Int64) {
        guard open.remove(position) != nil else { return }
        through = min(through, position - 1)
    }
}
