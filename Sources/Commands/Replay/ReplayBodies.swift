import AppStore
import Postgres
import SQL
import StrictJSON

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

/// The bodies in a file: the whole file is one JSON object, or each line is one. Lines are read one at a time.
struct FileBodies: ReplayBodies {
    /// The largest body that the inbox takes.
    static let limit = 4 << 20

    private let startLine: Int
    private var reader: FileLines
    private var state = State.unread

    private enum State {
        case unread, lines, ended
    }

    /// - Parameters:
    ///   - path: `-` for standard input.
    ///   - startLine: the first line to hand out.
    init(path: String, startLine: Int) throws(InputFile.Unreadable) {
        reader = try FileLines(path: path, limit: Self.limit)
        self.startLine = startLine
    }

    mutating func next() async throws -> ReplayItem? {
        if state == .unread {
            state = .lines
            if let whole = try await reader.wholeFile(), Self.isObject(whole) {
                state = .ended
                return startLine <= 1 ? ReplayItem(origin: .line(1), content: Self.content(of: whole)) : nil
            }
        }
        while state == .lines, let line = try await reader.next() {
            guard line.number >= startLine, line.isTooLong || !line.bytes.isEmpty else { continue }
            if line.isTooLong {
                return ReplayItem(origin: .line(line.number), content: .none(reason: "longer than \(Self.limit) bytes"))
            }
            return ReplayItem(origin: .line(line.number), content: Self.content(of: line.bytes))
        }
        return nil
    }

    /// A body that ingest would refuse is not posted.
    private static func content(of bytes: [UInt8]) -> ReplayItem.Content {
        do throws(NotificationBody.Refusal) {
            _ = try NotificationBody.signedPayload(in: bytes)
            return .body(bytes, as: .notificationV2)
        } catch {
            return legacyContent(of: bytes) ?? .none(reason: "no notification: \(error.rawValue)")
        }
    }

    /// Nil when the body is not a notification V1. One from the inbox has no secret, so that ingest would refuse it.
    private static func legacyContent(of bytes: [UInt8]) -> ReplayItem.Content? {
        do throws(NotificationV1Body.Refusal) {
            let notification = try NotificationV1Body(bytes)
            guard notification.kind == .notificationV1 else { return nil }
            guard notification.secrets.contains(where: { !$0.isEmpty }) else {
                return .none(
                    reason: "a notification V1 without its shared secret, as the inbox keeps it: use appstore.requeue_event with its event"
                )
            }
            return .body(bytes, as: .notificationV1)
        } catch {
            return nil
        }
    }

    private static func isObject(_ bytes: [UInt8]) -> Bool {
        do throws(JSONSyntaxError) {
            _ = try JSONParser().parseObject(bytes)
            return true
        } catch {
            return false
        }
    }
}

/// Reads a file line by line on threads that may block; trims the white space around each line.
private struct FileLines {
    struct Line {
        /// Counted from 1.
        let number: Int
        /// Empty when it is too long.
        let bytes: [UInt8]
        let isTooLong: Bool
    }

    private let file: InputFile
    private let limit: Int
    private var buffer: [UInt8] = []
    /// The index of the next line in the buffer.
    private var position = 0
    private var number = 0
    private var isAtEnd = false

    private static let newline = UInt8(ascii: "\n")

    /// - Parameters:
    ///   - path: `-` for standard input.
    ///   - limit: bytes of the longest line.
    init(path: String, limit: Int) throws(InputFile.Unreadable) {
        self.limit = limit
        file = try InputFile(path: path)
    }

    /// The whole file, or nil when it is longer than `limit`. Call it before ``next()``, which still returns each line.
    mutating func wholeFile() async throws -> [UInt8]? {
        while !isAtEnd, buffer.count <= limit { try await fill() }
        return isAtEnd && buffer.count <= limit ? Self.trimmed(buffer[...]) : nil
    }

    /// The next line; nil at the end.
    mutating func next() async throws -> Line? {
        var searched = position
        var isTooLong = false
        while true {
            if let end = buffer[searched...].firstIndex(of: Self.newline) { return take(to: end, skipping: 1, isTooLong) }
            if isAtEnd { return position < buffer.count || isTooLong ? take(to: buffer.count, skipping: 0, isTooLong) : nil }
            if buffer.count - position > limit {
                // The line is too long: drop these bytes and read on to its end.
                isTooLong = true
                position = buffer.count
            }
            buffer.removeFirst(position)
            position = 0
            searched = buffer.count
            try await fill()
        }
    }

    private mutating func take(to end: Int, skipping separator: Int, _ isTooLong: Bool) -> Line {
        let bytes = buffer[position..<end]
        position = end + separator
        number += 1
        return Line(number: number, bytes: isTooLong ? [] : Self.trimmed(bytes), isTooLong: isTooLong || bytes.count > limit)
    }

    private mutating func fill() async throws {
        let bytes = try await file.read()
        isAtEnd = bytes.isEmpty
        buffer += bytes
    }

    private static func trimmed(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        let isSpace: (UInt8) -> Bool = { $0 == 0x20 || (0x09...0x0d).contains($0) }
        guard let first = bytes.firstIndex(where: { !isSpace($0) }), let last = bytes.lastIndex(where: { !isSpace($0) }) else { return [] }
        return Array(bytes[first...last])
    }
}
