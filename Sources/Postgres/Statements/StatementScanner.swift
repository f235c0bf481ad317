/// Replaces the named binds of a statement's text with numbered ones. Skips casts, literals, quoted names and comments (PostgreSQL's
/// documentation, 4.1 "Lexical Structure").
struct StatementScanner {
    private(set) var parameters: [String] = []

    private let text: [UInt8]
    private var position = 0
    private var output: [UInt8] = []

    init(_ text: [UInt8]) {
        self.text = text
        output.reserveCapacity(text.count)
    }

    /// The text with numbered binds, without leading comments and surrounding white space.
    var sql: String {
        let end = output.lastIndex { !Self.isSpace($0) }.map { $0 + 1 } ?? 0
        return String(decoding: output[..<end], as: UTF8.self)
    }

    mutating func scan() {
        while position < text.count {
            let byte = text[position]
            switch byte {
            case UInt8(ascii: "'"): copyQuoted(byte, escapes: false)
            case UInt8(ascii: "\""): copyQuoted(byte, escapes: false)
            case UInt8(ascii: "-") where byteAfter() == byte: copyComment { $0.lineCommentEnd() }
            case UInt8(ascii: "/") where byteAfter() == UInt8(ascii: "*"): copyComment { $0.blockCommentEnd() }
            case UInt8(ascii: "$"): copyDollar()
            case UInt8(ascii: ":"): copyColon()
            case _ where Self.isNameStart(byte): copyWord()
            case _ where Self.isSpace(byte) && output.isEmpty: position += 1
            default: copy(upTo: position + 1)
            }
        }
    }

    private func byteAfter() -> UInt8? {
        position + 1 < text.count ? text[position + 1] : nil
    }

    private mutating func copy(upTo end: Int) {
        output += text[position..<end]
        position = end
    }

    /// Copies a literal or a quoted name. A doubled quote is handled as two adjacent literals.
    private mutating func copyQuoted(_ quote: UInt8, escapes: Bool) {
        var end = position + 1
        while end < text.count, text[end] != quote {
            end += escapes && text[end] == UInt8(ascii: "\\") ? 2 : 1
        }
        copy(upTo: min(end + 1, text.count))
    }

    /// Copies a comment, unless it comes before the first word of SQL.
    private mutating func copyComment(_ end: (borrowing Self) -> Int) {
        let end = end(self)
        if output.isEmpty { position = end } else { copy(upTo: end) }
    }

    private func lineCommentEnd() -> Int {
        text[position...].firstIndex(of: UInt8(ascii: "\n")) ?? text.count
    }

    /// Block comments nest.
    private func blockCommentEnd() -> Int {
        var end = position + 2
        var depth = 1
        while end < text.count, depth > 0 {
            let pair = (text[end], end + 1 < text.count ? text[end + 1] : 0)
            switch pair {
            case (UInt8(ascii: "/"), UInt8(ascii: "*")): (depth, end) = (depth + 1, end + 2)
            case (UInt8(ascii: "*"), UInt8(ascii: "/")): (depth, end) = (depth - 1, end + 2)
            default: end += 1
            }
        }
        return min(end, text.count)
    }

    /// Copies a literal between two equal `$tag$`, or a single dollar sign.
    private mutating func copyDollar() {
        var tagEnd = position + 1
        while tagEnd < text.count, Self.isNamePart(text[tagEnd]) { tagEnd += 1 }
        let isTag = tagEnd < text.count && text[tagEnd] == UInt8(ascii: "$") && !Self.isDigit(text[position + 1])
        guard isTag else { return copy(upTo: position + 1) }
        let tag = text[position...tagEnd]
        var end = tagEnd + 1
        while end < text.count, !text[end...].starts(with: tag) { end += 1 }
        copy(upTo: min(end + tag.count, text.count))
    }

    /// Copies a cast, or replaces `:name` with its number.
    private mutating func copyColon() {
        guard let next = byteAfter(), next != UInt8(ascii: ":") else { return copy(upTo: min(position + 2, text.count)) }
        guard Self.isNameStart(next) else { return copy(upTo: position + 1) }
        var end = position + 1
        while end < text.count, Self.isNamePart(text[end]) { end += 1 }
        let name = String(decoding: text[position + 1..<end], as: UTF8.self)
        position = end
        let index = parameters.firstIndex(of: name) ?? parameters.count
        if index == parameters.count { parameters.append(name) }
        output += "$\(index + 1)".utf8
    }

    /// Copies a word; `e'…'` is a literal in which a backslash escapes the quote.
    private mutating func copyWord() {
        var end = position
        while end < text.count, Self.isNamePart(text[end]) || text[end] == UInt8(ascii: "$") { end += 1 }
        let isEscapePrefix = end == position + 1 && text[position] | 0x20 == UInt8(ascii: "e")
        copy(upTo: end)
        if isEscapePrefix, end < text.count, text[end] == UInt8(ascii: "'") { copyQuoted(text[end], escapes: true) }
    }

    private static func isSpace(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: " ") || (UInt8(ascii: "\t")...UInt8(ascii: "\r")).contains(byte)
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }

    private static func isNameStart(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20) || byte == UInt8(ascii: "_") || byte >= 0x80
    }

    private static func isNamePart(_ byte: UInt8) -> Bool {
        isNameStart(byte) || isDigit(byte)
    }
}
