import Testing

@testable import Commands

@Suite struct CSVParserTests {
    private func records(_ text: String, cutAt cuts: [Int] = []) -> [String] {
        var parser = CSVParser()
        let bytes = Array(text.utf8)
        var records: [CSVParser.Record] = []
        var from = 0
        for cut in cuts.sorted() + [bytes.count] where cut >= from && cut <= bytes.count {
            records += parser.parse(Array(bytes[from..<cut]))
            from = cut
        }
        records += [parser.finish()].compactMap(\.self)
        return records.map { record in
            "\(record.line):" + (record.flaw ?? record.fields.map { String(decoding: $0, as: UTF8.self) }.joined(separator: "|"))
        }
    }

    static let cases = [
        ("a,b\r\n1,2\r\n", ["1:a|b", "2:1|2"]), ("a\n\n1", ["1:a", "3:1"]), ("a\r1\r", ["1:a", "2:1"]),
        ("\u{FEFF}a,b\n", ["1:a|b"]), ("\u{FEFF}\"a\",b\n", ["1:a|b"]), ("a,\n,\n", ["1:a|", "2:|"]),
        ("\"a\"\"b\",\"c,d\"\n", ["1:a\"b|c,d"]), ("\"a\r\nb\"\nc\n", ["1:a\r\nb", "3:c"]), ("\"\"\nx\n", ["1:", "2:x"]),
        ("a\"b\nc\n", ["1:there is a quote inside a field without quotes", "2:c"]),
        ("\"a\"b\nc\n", ["1:there is text after a closing quote", "2:c"]), ("x\n\"abc\n", ["1:x", "2:a quote has no end"]),
    ]

    @Test(arguments: cases) func `text becomes records, wherever its bytes are cut`(_ text: String, _ expected: [String]) {
        #expect(records(text) == expected)
        for cut in 0...text.utf8.count { #expect(records(text, cutAt: [cut]) == expected, "cut at \(cut)") }
    }

    @Test func `a quote without its end costs a part of the file and no more`() {
        let lines = (0..<20_000).map { "line \($0),x\n" }.joined()
        let found = records("a,b\n\"open,1\n" + lines)
        #expect(found[1].contains("no end within"))
        #expect(found.count > 19_000)
    }
}
