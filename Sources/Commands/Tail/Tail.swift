import Glibc
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
    static let searched = 10_000

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
            let latest = filter.isEmpty ? Self.page : Self.searched
            let start = try await connection.query(.settledSince(events: Int32(latest)))[0].decode(0, as: PostgresTimestamp?.self)
            // Events that were settled before these may be visible later.
            let earliest = position.readAt.earlier(by: TailWindow.longest)
            var first = TailWindow(start: min(start ?? earliest, earliest))
            for event in try await unseen(connection, &first).suffix(last) { write(event) }
            first.advance(past: position)
            window = first
            return
        }
        for event in try await unseen(connection, &open) { write(event) }
        open.advance(past: position)
        window = open
    }

    private func unseen(_ connection: Connection, _ window: inout TailWindow) async throws -> [SettledEvent] {
        var events: [SettledEvent] = []
        var (from, after) = (window.start, Int64(0))
        while true {
            let statement = Statement.tailEvents(
                settledFrom: from,
                afterEventID: after,
                limit: Int32(Self.page),
                result: filter.outcome,
                type: filter.type,
                app: filter.app
            )
            let rows = try await connection.query(statement)
            for event in try rows.map({ try SettledEvent($0) }) {
                if window.admit(event.key, settledAt: event.settledAt), filter.admits(event) { events.append(event) }
                (from, after) = (event.settledAt, event.key.eventID)
            }
            if rows.count < Self.page { return events }
        }
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

extension StandardOutput {
    /// Whether nothing reads the pipe any more.
    static var isClosed: Bool {
        var descriptor = pollfd(fd: STDOUT_FILENO, events: 0, revents: 0)
        return poll(&descriptor, 1, 0) == 1 && Int32(descriptor.revents) & (POLLERR | POLLNVAL) != 0
    }
}
