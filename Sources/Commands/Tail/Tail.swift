import Logging
import Postgres
import SQL

/// Prints events as they are settled, until its task is cancelled or the reader of standard output has gone.
struct Tail {
    let options: ConnectionOptions
    let logger: Logger
    let filter: TailFilter
    /// How many of the events that are settled already are printed first.
    let last: Int
    /// Whether it goes on after these.
    let follows: Bool
    var printer: TailPrinter

    private static let page = 1000
    /// How many settled events are searched for the last ones that meet the filter.
    private static let searched = 10_000

    /// - Throws: What makes the first connection fail, and any later error but those of a database that is away for a while.
    mutating func run() async throws {
        var connection: Connection? = try await Connection.open(options, logger: logger)
        var window: TailWindow?
        var isAway = false
        while true {
            let begin = ContinuousClock.now
            do {
                let open = if let connection { connection } else { try await Connection.open(options, logger: logger) }
                connection = open
                try await poll(open, &window)
                if isAway { LogOutput.standardError.write("the database answers again\n") }
                isAway = false
            } catch let error as PostgresError where error.isRetryable && follows {
                if !isAway { LogOutput.standardError.write("waiting for the database: \(error)\n") }
                isAway = true
                await connection?.close()
                connection = nil
            }
            if !follows || StandardOutput.isClosed { break }
            // A poll that reads much, because a transaction runs for long, takes a third of the time at most.
            try await Task.sleep(for: max(.seconds(1), (ContinuousClock.now - begin) * 2))
            if StandardOutput.isClosed { break }
        }
        await connection?.close()
    }

    /// Prints what is new.
    private mutating func poll(_ connection: Connection, _ window: inout TailWindow?) async throws {
        let position = try await connection.query(.tailPosition())[0].position()
        guard var open = window else {
            // Events that were settled before these may be visible later.
            var first = TailWindow(start: position.readAt.earlier(by: TailWindow.longest))
            let events = try await latest(connection, before: first.start) + unseen(connection, &first)
            for event in events.suffix(last) { write(event) }
            first.advance(past: position)
            window = first
            return
        }
        for event in try await unseen(connection, &open) { write(event) }
        open.advance(past: position)
        window = open
    }

    /// The last events before the window that meet the filter, the oldest first.
    private func latest(_ connection: Connection, before start: PostgresTimestamp) async throws -> [SettledEvent] {
        // The database does not know the user: it may be any of the events that it finds.
        let limit = filter.user == nil ? last : Self.page
        var events: [SettledEvent] = []
        var (place, read): (Place?, Int) = ((start, 0), 0)
        while let before = place, events.count < last, read < Self.searched {
            let page = try await self.page(of: limit, before: before, on: connection)
            events += page.events.filter(filter.admits)
            read += page.events.count
            place = page.isCut ? nil : page.next
        }
        return events.reversed()
    }

    private func unseen(_ connection: Connection, _ window: inout TailWindow) async throws -> [SettledEvent] {
        var events: [SettledEvent] = []
        var place: Place? = (window.start, 0)
        while let after = place {
            let page = try await page(of: Self.page, after: after, on: connection)
            for event in page.events where window.admit(event.key, settledAt: event.settledAt) && filter.admits(event) {
                events.append(event)
            }
            place = page.next
        }
        return events
    }

    /// A place in the order in which events were settled.
    private typealias Place = (at: PostgresTimestamp, event: Int64)

    /// Reads the first events after a place, or the last ones before it, the latest first; and where the next page begins, unless it is the
    /// last. A page is cut where the search has checked enough.
    private func page(
        of limit: Int,
        after: Place? = nil,
        before: Place? = nil,
        on connection: Connection
    ) async throws -> (events: [SettledEvent], next: Place?, isCut: Bool) {
        let rows = try await connection.query(
            .tailEvents(
                filter: filter.conditions,
                oldestFirst: after != nil,
                afterAt: after?.at,
                afterEventID: after?.event,
                beforeAt: before?.at,
                beforeEventID: before?.event,
                limit: Int32(limit)
            )
        )
        let events = try rows.filter { try $0.decode("is_found") }.map { try SettledEvent($0) }
        let isCut = try rows.last?.decode("is_cut", as: Bool.self) ?? false
        guard let last = rows.last, isCut || rows.count == limit else { return (events, nil, false) }
        return (events, (try last.decode("settled_at"), try last.decode("event_id")), isCut)
    }

    private mutating func write(_ event: SettledEvent) {
        StandardOutput.write(printer.line(event, now: LogOutput.standardError.now()))
    }
}

extension Row {
    fileprivate func position() throws -> TailWindow.Position {
        TailWindow.Position(
            readAt: try decode("read_at"),
            nextTransaction: try decode("next_transaction"),
            oldestTransaction: try decode("oldest_transaction")
        )
    }
}

/// Which settled events a tail has shown, and from which instant on it must read again.
///
/// Events become visible in the order of their commits, not of `settled_at`: a transaction that commits late adds events that lie before
/// others. But a transaction has its id before it settles an event. So each poll notes its time and the id that the next transaction gets.
/// Once all transactions before such an id have ended, nothing that was settled before that poll can still appear, and reading from the time of
/// that poll on is enough.
struct TailWindow {
    /// How far transactions were at the beginning of a poll.
    struct Position {
        let readAt: PostgresTimestamp
        /// The id that the next transaction gets.
        let nextTransaction: Int64
        /// The oldest one that runs. All before have ended, and what they settled is visible to the poll.
        let oldestTransaction: Int64
    }

    /// Events of a transaction that commits later than this are missed: a worker's takes that long only where its COMMIT waits for a missing
    /// standby. Otherwise any long transaction of the cluster would make each poll read more and more.
    fileprivate static let longest: Duration = .seconds(60)

    /// All events that were settled earlier have been seen.
    private(set) var start: PostgresTimestamp
    private var positions: [Position] = []
    private var seen: [SettledEvent.Key: PostgresTimestamp] = [:]

    init(start: PostgresTimestamp) {
        self.start = start
    }

    /// Returns whether this is the first time that the event is seen.
    mutating func admit(_ key: SettledEvent.Key, settledAt: PostgresTimestamp) -> Bool {
        seen.updateValue(settledAt, forKey: key) == nil
    }

    /// Ends a poll that has read everything from ``start`` on.
    ///
    /// - Parameter position: read before the events.
    mutating func advance(past position: Position) {
        positions.append(position)
        let bound = position.readAt.earlier(by: Self.longest)
        if let index = positions.lastIndex(where: { $0.nextTransaction <= position.oldestTransaction || $0.readAt < bound }) {
            start = max(start, positions[index].readAt)
            positions.removeSubrange(...index)
        }
        seen = seen.filter { $0.value >= start }
    }
}

extension PostgresTimestamp {
    /// The instant that many seconds before.
    func earlier(by duration: Duration) -> PostgresTimestamp {
        PostgresTimestamp(microsecondsSince2000: microsecondsSince2000 - duration.components.seconds * 1_000_000)
    }
}
