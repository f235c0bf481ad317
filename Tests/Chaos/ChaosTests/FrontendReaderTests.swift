import Testing

/// The proxy must recognise a commit in the byte stream, to inject a fault at that moment.
@Suite struct FrontendReaderTests {
    private static let start: [UInt8] = length(8 + 29) + [0, 3, 0, 0] + Array("user\0appstore_ingest\0a\0b\0c\0\0\0".utf8)

    /// A message's length includes the length field itself.
    private static func length(_ count: Int) -> [UInt8] { [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: count >> $0) } }

    private static func message(_ type: Character, _ content: [UInt8] = []) -> [UInt8] {
        [type.asciiValue ?? 0] + length(content.count + 4) + content
    }

    private static func parse(_ name: String, _ query: String) -> [UInt8] { message("P", Array("\(name)\0\(query)\0\0\0".utf8)) }
    private static func bind(_ name: String, body: Int = 0) -> [UInt8] {
        message("B", Array("\0\(name)\0".utf8) + [UInt8](repeating: 83, count: body))
    }

    private static let synchronize = message("S")

    struct MessageStream: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let messages: [UInt8]
        /// The marks: point, distance from the end of all messages, and the number of ReadyForQuery messages up to its answer.
        let marks: [(FrontendReader.Point, fromEnd: Int, answers: Int)]
    }

    private static let receive = "SELECT event_id FROM appstore.receive($1, $2) AS stored (event_id)"
    static let streams = [
        MessageStream(
            testDescription: "a COMMIT that is parsed each time",
            messages: parse("", "UPDATE x") + bind("") + synchronize + parse("", "COMMIT") + bind("") + message("E") + synchronize,
            marks: [(.commit, fromEnd: (bind("") + message("E") + synchronize).count, answers: 3)]
        ),
        MessageStream(
            testDescription: "a COMMIT prepared earlier",
            messages: parse("c", "COMMIT") + synchronize + bind("s1") + synchronize + bind("c") + message("E") + synchronize,
            marks: [(.commit, fromEnd: (bind("c") + message("E") + synchronize).count, answers: 4)]
        ),
        MessageStream(
            testDescription: "a receive prepared earlier, with a large body",
            messages: parse("s1", receive) + synchronize + parse("s2", "SELECT 1") + synchronize + bind("s1", body: 5000) + message("E")
                + synchronize + bind("s2") + synchronize,
            marks: [(.receive, fromEnd: synchronize.count + bind("s2").count + synchronize.count, answers: 4)]
        ),
        MessageStream(
            testDescription: "a COMMIT of the simple protocol",
            messages: message("Q", Array("COMMIT\0".utf8)),
            marks: [(.commit, fromEnd: 12, answers: 2)]
        ),
        MessageStream(testDescription: "no commit", messages: parse("", "SELECT 1") + bind("") + synchronize, marks: []),
    ]

    @Test(arguments: streams, [1, 2, 7, 64, 100_000])
    func `commits are recognised in chunks of any size`(stream: MessageStream, pieceSize: Int) throws {
        var reader = FrontendReader()
        let all = Self.start + stream.messages
        var found: [(FrontendReader.Point, fromEnd: Int, answers: Int)] = []
        for start in stride(from: 0, to: all.count, by: pieceSize) {
            let piece = Array(all[start..<min(start + pieceSize, all.count)])
            found += reader.feed(piece).map { ($0.point, all.count - start - $0.start, $0.answers) }
        }
        #expect(reader.user == "appstore_ingest")
        #expect(found.map(\.0) == stream.marks.map(\.0))
        #expect(found.map(\.answers) == stream.marks.map(\.answers))
        for (mark, expected) in zip(found, stream.marks) {
            // Of a message that began in an earlier chunk only the rest can be held back, which suffices.
            #expect(mark.fromEnd == expected.fromEnd || (mark.fromEnd < expected.fromEnd && mark.fromEnd > 0 && pieceSize < 100))
        }
    }
}
