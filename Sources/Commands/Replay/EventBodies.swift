import AppStore
import Postgres
import SQL

/// The bodies of inbox events, oldest first within each selection.
struct EventBodies: ReplayBodies {
    private let connection: Connection
    private var selections: ArraySlice<EventSelection>
    /// The part of the first selection that is not read yet.
    private var rest: ClosedRange<Int64>?
    private var hasFound = false
    private var items: ArraySlice<ReplayItem> = []

    /// Bodies in memory at once.
    private static let page = 16

    init(_ selections: [EventSelection], on connection: Connection) {
        self.connection = connection
        self.selections = selections[...]
        rest = selections.first?.events
    }

    mutating func next() async throws -> ReplayItem? {
        while true {
            if let item = items.popFirst() { return item }
            guard let selection = selections.first else { return nil }
            if let rest {
                try await read(rest)
                continue
            }
            selections.removeFirst()
            defer {
                rest = selections.first?.events
                hasFound = false
            }
            // Ids have gaps: only a selection without any event is an error.
            if !hasFound {
                let reason =
                    selection.isSingle
                    ? "there is no such event, or its body has been dropped"
                    : "there is no event from here to \(selection.events.upperBound)"
                return ReplayItem(origin: .event(selection.events.lowerBound), content: .none(reason: reason))
            }
        }
    }

    private mutating func read(_ range: ClosedRange<Int64>) async throws {
        let rows = try await connection.query(
            .replayEvents(fromEventID: range.lowerBound, toEventID: range.upperBound, limit: Int64(Self.page))
        )
        items = try rows.map { row in
            let (event, source) = (try row.decode("event_id", as: Int64.self), try row.decode("source", as: String.self))
            return ReplayItem(origin: .event(event), content: try Self.content(event, source, row))
        }[...]
        hasFound = hasFound || !items.isEmpty
        guard case .event(let last)? = items.last?.origin, last < range.upperBound else {
            rest = nil
            return
        }
        rest = (last + 1)...range.upperBound
    }

    /// Only notifications V2 can be posted again. Client posts need a key, and the inbox does not store the secret of a notification V1.
    private static func content(_ event: Int64, _ source: String, _ row: Row) throws -> ReplayItem.Content {
        guard [.notificationV2, .historyV2].contains(EventSource(rawValue: source)) else {
            return .none(reason: "is a \(source), which cannot be posted again: use SELECT appstore.requeue_event(\(event))")
        }
        return .body(try row.decode("body"), as: .notificationV2)
    }
}
