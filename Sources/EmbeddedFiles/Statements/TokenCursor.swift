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
