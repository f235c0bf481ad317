/// A token of an SQL text (PostgreSQL's documentation, 4.1 "Lexical Structure").
struct SQLToken: Equatable {
    enum Kind: Equatable {
        /// A keyword or a name without quotes.
        case word
        /// A name in double quotes.
        case quotedName
        /// A literal in single quotes or between two dollar tags.
        case literal
        case number
        /// A cast, `::`.
        case cast
        /// A named bind such as `:limit`, which psql takes as a variable.
        case bind
        case symbol
        case comment
        case space
    }

    let kind: Kind
    let text: Substring

    /// A token that means something to the server.
    var isSignificant: Bool { kind != .comment && kind != .space }

    func isWord(_ word: String) -> Bool { kind == .word && text.lowercased() == word }
    func isSymbol(_ symbol: String) -> Bool { kind == .symbol && text == symbol }
}

/// Splits an SQL text into tokens, which joined are the text.
struct SQLLexer {
    private let text: String
    private let bytes: [UInt8]
    private var position = 0

    static func tokens(of text: String) throws(StatementError) -> [SQLToken] {
        var lexer = SQLLexer(text)
        var tokens: [SQLToken] = []
        while let token = try lexer.next() { tokens.append(token) }
        return tokens
    }

    private init(_ text: String) {
        self.text = text
        bytes = Array(text.utf8)
    }

    private mutating func next() throws(StatementError) -> SQLToken? {
        guard position < bytes.count else { return nil }
        let start = position
        let kind: SQLToken.Kind
        switch bytes[position] {
        case UInt8(ascii: "'"): kind = try literal(escapes: false)
        case UInt8(ascii: "\""): kind = try quotedName()
        case UInt8(ascii: "-") where byte(after: position) == UInt8(ascii: "-"): kind = lineComment()
        case UInt8(ascii: "/") where byte(after: position) == UInt8(ascii: "*"): kind = try blockComment()
        case UInt8(ascii: "$"): kind = try dollar()
        case UInt8(ascii: ":"): kind = colon()
        case let byte where Self.isNameStart(byte): kind = try word()
        case let byte where Self.isDigit(byte): kind = skip(.number) { Self.isNamePart($0) || $0 == UInt8(ascii: ".") }
        case let byte where Self.isSpace(byte): kind = skip(.space, while: Self.isSpace)
        default:
            position += 1
            kind = .symbol
        }
        let indices = text.utf8.index(text.startIndex, offsetBy: start)..<text.utf8.index(text.startIndex, offsetBy: position)
        return SQLToken(kind: kind, text: text[indices])
    }

    private func byte(after index: Int) -> UInt8? {
        index + 1 < bytes.count ? bytes[index + 1] : nil
    }

    private mutating func skip(_ kind: SQLToken.Kind, while isPart: (UInt8) -> Bool) -> SQLToken.Kind {
        while position < bytes.count, isPart(bytes[position]) { position += 1 }
        return kind
    }

    /// Moves behind the closing quote. A doubled quote is a part of the text.
    private mutating func closeQuote(_ quote: UInt8, escapes: Bool) throws(StatementError) {
        let start = position
        position += 1
        while position < bytes.count {
            switch bytes[position] {
            case quote where byte(after: position) == quote: position += 2
            case quote: return position += 1
            case UInt8(ascii: "\\") where escapes: position += 2
            default: position += 1
            }
        }
        throw error("no end of the quoted text", at: start)
    }

    private mutating func literal(escapes: Bool) throws(StatementError) -> SQLToken.Kind {
        try closeQuote(UInt8(ascii: "'"), escapes: escapes)
        return .literal
    }

    private mutating func quotedName() throws(StatementError) -> SQLToken.Kind {
        try closeQuote(UInt8(ascii: "\""), escapes: false)
        return .quotedName
    }

    private mutating func lineComment() -> SQLToken.Kind {
        skip(.comment) { $0 != UInt8(ascii: "\n") }
    }

    /// Block comments nest.
    private mutating func blockComment() throws(StatementError) -> SQLToken.Kind {
        let start = position
        var depth = 0
        repeat {
            switch (position < bytes.count ? bytes[position] : nil, byte(after: position)) {
            case (UInt8(ascii: "/"), UInt8(ascii: "*")): (depth, position) = (depth + 1, position + 2)
            case (UInt8(ascii: "*"), UInt8(ascii: "/")): (depth, position) = (depth - 1, position + 2)
            case (nil, _): throw error("no end of the comment", at: start)
            default: position += 1
            }
        } while depth > 0
        return .comment
    }

    /// A literal between two equal `$tag$`, or a dollar sign.
    private mutating func dollar() throws(StatementError) -> SQLToken.Kind {
        let start = position
        var tagEnd = position + 1
        while tagEnd < bytes.count, Self.isNamePart(bytes[tagEnd]) { tagEnd += 1 }
        position += 1
        guard tagEnd < bytes.count, bytes[tagEnd] == UInt8(ascii: "$"), !Self.isDigit(bytes[start + 1]) else { return .symbol }
        let tag = bytes[start...tagEnd]
        position = tagEnd + 1
        while position < bytes.count {
            if bytes[position] == tag.first, bytes[position...].starts(with: tag) {
                position += tag.count
                return .literal
            }
            position += 1
        }
        throw error("no end of the literal", at: start)
    }

    /// A cast, `:name`, or a colon, as in the slice of an array.
    private mutating func colon() -> SQLToken.Kind {
        position += 1
        guard position < bytes.count else { return .symbol }
        if bytes[position] == UInt8(ascii: ":") {
            position += 1
            return .cast
        }
        return Self.isNameStart(bytes[position]) ? skip(.bind, while: Self.isNamePart) : .symbol
    }

    /// `e'…'` is a literal in which a backslash escapes the quote.
    private mutating func word() throws(StatementError) -> SQLToken.Kind {
        let start = position
        let kind = skip(.word) { Self.isNamePart($0) || $0 == UInt8(ascii: "$") }
        let isEscapePrefix = position == start + 1 && bytes[start] | 0x20 == UInt8(ascii: "e")
        guard isEscapePrefix, position < bytes.count, bytes[position] == UInt8(ascii: "'") else { return kind }
        return try literal(escapes: true)
    }

    private func error(_ message: String, at start: Int) -> StatementError {
        StatementError(message, line: 1 + bytes[..<start].count { $0 == UInt8(ascii: "\n") })
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

/// What is wrong with a file of SQL, and in which line.
package struct StatementError: Error, Equatable, CustomStringConvertible {
    package let message: String
    package let line: Int

    init(_ message: String, line: Int) {
        self.message = message
        self.line = line
    }

    package var description: String { "line \(line): \(message)" }
}

/// Reads the tokens of an SQL text one after the other.
struct TokenCursor {
    private let tokens: [SQLToken]
    private(set) var position = 0

    init(_ text: String) throws(StatementError) {
        tokens = try SQLLexer.tokens(of: text)
    }

    /// The next token that is neither a comment nor white space; nil at the end.
    var next: SQLToken? {
        tokens[position...].first(where: \.isSignificant)
    }

    /// Moves behind the next significant token.
    @discardableResult
    mutating func take() throws(StatementError) -> SQLToken {
        guard let index = tokens[position...].firstIndex(where: \.isSignificant) else { throw error("the text ends too early") }
        position = index + 1
        return tokens[index]
    }

    /// The next token of any kind.
    mutating func takeAny() -> SQLToken? {
        guard position < tokens.count else { return nil }
        defer { position += 1 }
        return tokens[position]
    }

    /// Moves behind `word` if it is next.
    mutating func takes(word: String) -> Bool {
        takes { $0.isWord(word) }
    }

    mutating func takes(symbol: String) -> Bool {
        takes { $0.isSymbol(symbol) }
    }

    /// Moves behind a comment if nothing but white space is before it.
    ///
    /// - Throws: for a comment that differs from it by spaces or case alone.
    mutating func takes(comment: String) throws(StatementError) -> Bool {
        guard let index = tokens[position...].firstIndex(where: { $0.kind != .space }), tokens[index].kind == .comment else { return false }
        let text = tokens[index].text
        guard text == comment else {
            func letters(_ text: some StringProtocol) -> String { text.lowercased().filter { $0 != " " } }
            if letters(text) == letters(comment) { throw error("\(text) is to be written \(comment)") }
            return false
        }
        position = index + 1
        return true
    }

    private mutating func takes(_ isWanted: (SQLToken) -> Bool) -> Bool {
        guard let index = tokens[position...].firstIndex(where: \.isSignificant), isWanted(tokens[index]) else { return false }
        position = index + 1
        return true
    }

    /// Moves behind `word`, which must be next.
    mutating func expect(word: String) throws(StatementError) {
        guard takes(word: word) else { throw unexpected("\(word.uppercased())") }
    }

    mutating func expect(symbol: String) throws(StatementError) {
        guard takes(symbol: symbol) else { throw unexpected(symbol) }
    }

    /// A name as it is written, with its quotes.
    mutating func name() throws(StatementError) -> String {
        guard let token = next, token.kind == .word || token.kind == .quotedName else { throw unexpected("a name") }
        try take()
        return String(token.text)
    }

    /// A name with its schema, such as `appstore.feed`.
    mutating func qualifiedName() throws(StatementError) -> String {
        var name = try name()
        while takes(symbol: ".") { name += "." + (try self.name()) }
        return name
    }

    func unexpected(_ expected: String) -> StatementError {
        error("\(next.map { "\"\($0.text)\"" } ?? "the end") where \(expected) was expected")
    }

    /// An error at the next token.
    func error(_ message: String) -> StatementError {
        let index = tokens[position...].firstIndex(where: \.isSignificant) ?? tokens.count
        let line = 1 + tokens[..<index].reduce(0) { $0 + $1.text.utf8.count { $0 == UInt8(ascii: "\n") } }
        return StatementError(message, line: line)
    }
}
