import NIOHTTP1

extension Problem {
    /// Maps what the HTTP/1.1 decoder found wrong.
    init(parserError error: any Error) {
        self = if case HTTPParserError.headerOverflow = error { .headTooLarge } else { .malformedRequest }
    }
}
