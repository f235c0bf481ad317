/// Parses a client's side of PostgreSQL's protocol far enough to recognise commits.
///
/// It keeps only the beginning of each message, since bodies amount to megabytes.
struct FrontendReader {
    /// The kinds of commits.
    enum Point: Hashable, CaseIterable {
        /// The COMMIT of a transaction.
        case commit
        /// `appstore.receive(…)`, which is its own transaction.
        case receive
    }

    /// The position of the message that makes the server commit: the Bind of a COMMIT, which the server executes without waiting for the
    /// following Sync; the Sync after a statement that is its own transaction; or a simple query.
    struct Mark: Equatable {
        /// The first byte of that message: a server that receives only the bytes before it does not commit.
        let start: Int
        let point: Point
        /// The number of ReadyForQuery messages up to and including this answer: one at the start, and one for each Sync.
        let answers: Int
    }

    /// The role in the startup message; nil before it and for a cancel request.
    private(set) var user: String?
    private var hasStarted = false
    /// The header of the current message: type and length, or the length alone in the startup message.
    private var head: [UInt8] = []
    private var beginning: [UInt8] = []
    private var remaining = 0
    private var messageStart = 0
    private var statements: [String: Point] = [:]
    private var pending: Point?
    private var synchronizations = 0
    private static let kept = 512

    /// Parses the next bytes and returns the marks in them. A message that began in earlier bytes is marked at 0.
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

    /// Handles a complete message; returns the commit that it causes.
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

    /// Parses the startup message: a version, then names and values.
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

    /// The text up to the next zero byte, and the bytes after it.
    private static func string(_ bytes: ArraySlice<UInt8>) -> (String, ArraySlice<UInt8>) {
        let end = bytes.firstIndex(of: 0) ?? bytes.endIndex
        return (String(decoding: bytes[..<end], as: UTF8.self), bytes[end...].dropFirst())
    }
}
