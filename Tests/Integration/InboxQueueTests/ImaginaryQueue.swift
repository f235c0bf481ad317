import Postgres
import Randomness

@testable import InboxQueue

/// The queue as PostgreSQL would show it, with its transactions, in memory.
struct ImaginaryQueue {
    private struct Event {
        let position: QueuePosition
        var isCommitted = false
        var isHeld = false
        var isGone = false
    }

    /// A transaction; it has no number until its first write.
    private struct Work {
        var xid: Int64?
        var inserts: [QueuePosition] = []
        var deletes: [Int] = []
        /// When it looked at the clock: its first write comes less than a second later.
        let began: Int64
    }

    var random: SeededGenerator
    private var clock: Int64 = 0
    private var nextXID: Int64 = 100
    /// To a snapshot a transaction with a greater number has not begun, even if it has written: its `xmin` is at most one more.
    private var latestCompletedXID: Int64 = 99
    private var nextEvent: Int64 = 1
    private var events: [Event] = []
    private var open: [Work] = []

    init(seed: UInt64) {
        random = SeededGenerator(seed: seed)
    }

    /// The first event that waits, or would after what is open has been committed or rolled back.
    var leastAlive: QueuePosition? {
        (events.filter { !$0.isGone }.map(\.position) + open.flatMap(\.inserts)).min()
    }

    /// In a transaction that ends at some time, with a number or without.
    mutating func probe(from: QueuePosition) -> LowWaterMark.Probe {
        let isNumbered = Bool.random(using: &random)
        let probe = LowWaterMark.Probe(
            from: from,
            serverStart: PostgresTimestamp(microsecondsSince2000: 0),
            first: events.filter { $0.isCommitted && !$0.isGone && $0.position >= from }.map(\.position).min(),
            at: PostgresTimestamp(microsecondsSince2000: clock),
            xmin: min(open.compactMap(\.xid).min() ?? .max, latestCompletedXID + 1),
            xid: isNumbered ? nextXID : nil
        )
        guard isNumbered else { return probe }
        open.append(Work(began: clock))
        number(open.count - 1)
        return probe
    }

    mutating func step() {
        clock += Int64.random(in: 0...300_000, using: &random)
        // A transaction that has read the clock writes within a second.
        for index in open.indices where open[index].xid == nil && clock - open[index].began > 600_000 { number(index) }
        switch Int.random(in: 0..<8, using: &random) {
        case 0, 1: insert()
        case 2: claim()
        case 3:
            if let index = open.indices.randomElement(using: &random) { number(index) }
        default:
            if let index = open.indices.randomElement(using: &random), open[index].xid != nil { end(index) }
        }
    }

    private mutating func insert() {
        var work = Work(began: clock)
        for _ in 0..<Int.random(in: 1...3, using: &random) {
            let delay = Bool.random(using: &random) ? 0 : Int64.random(in: 0...5_000_000, using: &random)
            work.inserts.append(
                QueuePosition(runAt: PostgresTimestamp(microsecondsSince2000: clock + delay), eventID: nextEvent)
            )
            nextEvent += 1
        }
        open.append(work)
    }

    /// Takes some of the first events that no transaction holds, as a batch would, and marks them as deleted.
    private mutating func claim() {
        let free = events.indices.filter { events[$0].isCommitted && !events[$0].isHeld && !events[$0].isGone }
            .sorted { events[$0].position < events[$1].position }
        let taken = Array(free.prefix(Int.random(in: 1...4, using: &random)))
        guard !taken.isEmpty else { return }
        for index in taken { events[index].isHeld = true }
        open.append(Work(deletes: taken, began: clock))
        number(open.count - 1)
    }

    private mutating func number(_ index: Int) {
        guard open[index].xid == nil else { return }
        open[index].xid = nextXID
        nextXID += 1
    }

    private mutating func end(_ index: Int) {
        let work = open.remove(at: index)
        latestCompletedXID = max(latestCompletedXID, work.xid ?? 0)
        let commits = Int.random(in: 0..<4, using: &random) > 0
        if commits { events += work.inserts.map { Event(position: $0, isCommitted: true) } }
        for event in work.deletes {
            events[event].isHeld = false
            events[event].isGone = commits
        }
    }
}
