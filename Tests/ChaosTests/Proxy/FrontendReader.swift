/// Follows what a client says in PostgreSQL's protocol, just closely enough to know when it says that something is to last.
///
/// Bodies pass through by the megabyte, so that only the beginning of each message is looked at.
struct FrontendReader {
    /// What the client is about to make last.
    enum Point: Hashable, CaseIterable {
        /// COMMIT of a transaction.
        case commit
        /// `appstore.receive(…)`, a transaction of its own.
        case receive
    }

    /// Where in the bytes that were fed the message is that makes the server make something last: the Bind of a COMMIT, which the server
    /// carries out without waiting for the Sync behind it; the Sync behind a statement that is a transaction of its own; a simple query.
    struct Mark: Equatable {
        /// The first byte of that message: a server that has no more than what is before it makes nothing last.
        let start: Int
        let point: Point
        /// How many times the server has said ReadyForQuery when it has answered: once at the start, and once for each Sync so far and for
        /// this one.
        let answers: Int
    }

    /// The role of the start-up message; nil before it and for a request to cancel.
    private(set) var user: String?
    private var hasStarted = false
    /// The bytes of the current message's head: type and length, or length alone at the start.
    private var head: [UInt8] = []
    private var beginning: [UInt8] = []
    private var remaining = 0
    private var messageStart = 0
    private var statements: [String: Point] = [:]
    private var pending: Point?
    private var synchronizations = 0
    private static let kept = 512

    /// Takes the next bytes; tells the marks in them. A message that began in earlier bytes is marked at 0.
    mutating func feed(_ bytes: [UInt8]) -> [Mark] {
        var marks: [Mark] = []
        var index = 0
        while index < bytes.count {
            if remaining == 0 {
                if head.isEmpty { messageStart = index }
                head.append(bytes[index])
                index += 1
                guard head.count == headLength else { continue }
                remaining = head.suffix(4).reduce(0) { $0 << 8 | Int($1) } - 4
            } else {
                let count = min(remaining, bytes.count - index)
                if beginning.count < Self.kept {
                    beginning += bytes[index..<(index + min(count, Self.kept - beginning.count))]
                }
                index += count
                remaining -= count
            }
            if remaining == 0 {
                let answers = synchronizations + 2
                if let point = finish() { marks.append(Mark(start: messageStart, point: point, answers: answers)) }
                messageStart = 0
            }
        }
        if remaining > 0 || !head.isEmpty { messageStart = 0 }
        return marks
    }

    private var headLength: Int { hasStarted ? 5 : 4 }

    /// A message is complete; says what it makes last.
    private mutating func finish() -> Point? {
        let type = hasStarted ? head[0] : 0
        let content = beginning
        (head, beginning) = ([], [])
        switch type {
        case 0:
            start(content)
        case UInt8(ascii: "P"):
            let (name, rest) = Self.string(content[...])
            statements[name] = Self.point(of: Self.string(rest).0)
        case UInt8(ascii: "B"):
            let point = statements[Self.string(Self.string(content[...]).1).0]
            if point == .commit { return point }
            pending = point ?? pending
        case UInt8(ascii: "Q"):
            synchronizations += 1
            return Self.point(of: Self.string(content[...]).0)
        case UInt8(ascii: "S"):
            synchronizations += 1
            defer { pending = nil }
            return pending
        default: break
        }
        return nil
    }

    /// The start-up message: a version, then names and values.
    private mutating func start(_ content: [UInt8]) {
        guard content.starts(with: [0, 3, 0, 0]) else { return }
        hasStarted = true
        var rest = content[4...]
        while !rest.isEmpty {
            let (name, afterName) = Self.string(rest)
            let (value, afterValue) = Self.string(afterName)
            if name == "user" { user = value }
            rest = name.isEmpty ? [] : afterValue
        }
    }

    private static func point(of query: String) -> Point? {
        if query == "COMMIT" { return .commit }
        return query.contains("appstore.receive(") ? .receive : nil
    }

    /// The text up to the next zero byte, and what is behind it.
    private static func string(_ bytes: ArraySlice<UInt8>) -> (String, ArraySlice<UInt8>) {
        let end = bytes.firstIndex(of: 0) ?? bytes.endIndex
        return (String(decoding: bytes[..<end], as: UTF8.self), bytes[end...].dropFirst())
    }
}
