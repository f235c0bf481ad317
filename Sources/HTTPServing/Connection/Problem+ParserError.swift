import NIOHTTP1

extension Problem {
    /// Maps an error of the HTTP/1.1 decoder.
    init(parserError error: any Error) {
        self = if case HTTPParserError.headerOverflow = error { .headTooLarge } else { .malformedRequest }
    }
}
