import StrictJSON
import Testing

struct JSONParserTests {
    @Test(
        arguments: [
            ("null", .null), (" true ", true), ("false", false), ("\t\r\n[ ]", []), ("{ }", [:]), ("\"\"", ""),
            ("[1,[2,{\"a\":[]}],null]", [1, [2, ["a": []]], .null]),
            ("{\"b\":1,\"a\":2,\"\":3}", ["b": 1, "a": 2, "": 3]),
            (#""\"\\\/\b\f\n\r\t""#, "\"\\/\u{8}\u{C}\n\r\t"), (#""\u00e9\u20AC\ud83d\ude00""#, "é€😀"), ("\"é€😀\u{7f}\"", "é€😀\u{7f}"),
            (#""a\u0000b""#, "a\0b"), (#"{"\u0061":1}"#, ["a": 1]), ("\"\u{10FFFF}\u{FFFE}\"", "\u{10FFFF}\u{FFFE}"),
        ] as [(String, JSONValue)]
    )
    func `RFC 8259 text is parsed to its value`(text: String, value: JSONValue) throws {
        #expect(try JSONParser().parse(Array(text.utf8)) == value)
    }

    @Test(arguments: ["0", "-0", "12", "-1.50", "1e5", "1E+5", "0.1e-2", "123456789012345678901234567890", "1e400"])
    func `a number keeps its text`(text: String) throws {
        guard case .number(let number) = try JSONParser().parse(Array(text.utf8)) else {
            Issue.record("no number")
            return
        }
        #expect(number.text == text)
    }

    @Test(
        arguments: [
            ("", .unexpectedEnd, 0), ("  ", .unexpectedEnd, 2), ("[1", .unexpectedEnd, 2), ("[1,", .unexpectedEnd, 3),
            ("{\"a\"", .unexpectedEnd, 4),
            ("{\"a\":", .unexpectedEnd, 5), ("\"abc", .unexpectedEnd, 4), ("\"abc\\", .unexpectedEnd, 5), ("tru", .unexpectedEnd, 3),
            ("-", .unexpectedEnd, 1), ("1.", .unexpectedEnd, 2), ("1e", .unexpectedEnd, 2), ("{", .unexpectedEnd, 1),
            ("[1,]", .unexpectedByte, 3), ("{\"a\":1,}", .unexpectedByte, 7), ("{a:1}", .unexpectedByte, 1), ("'a'", .unexpectedByte, 0),
            ("nul!", .unexpectedByte, 3), ("True", .unexpectedByte, 0), ("NaN", .unexpectedByte, 0), ("+1", .unexpectedByte, 0),
            (".5", .unexpectedByte, 0), ("[1 2]", .unexpectedByte, 3), ("{\"a\" 1}", .unexpectedByte, 5), ("// x", .unexpectedByte, 0),
            ("[1}", .unexpectedByte, 2), ("\u{FEFF}1", .unexpectedByte, 0), ("\u{A0}1", .unexpectedByte, 0), ("{1:2}", .unexpectedByte, 1),
            ("1 2", .trailingBytes, 2), ("{}x", .trailingBytes, 2), ("[]]", .trailingBytes, 2), ("1\0", .trailingBytes, 1),
            ("nullx", .trailingBytes, 4),
            ("01", .invalidNumber, 1), ("-01", .invalidNumber, 2), ("-a", .invalidNumber, 1), ("1.e5", .invalidNumber, 2),
            ("1e+", .unexpectedEnd, 3),
            ("1ex", .invalidNumber, 2), ("-.5", .invalidNumber, 1), ("0x10", .trailingBytes, 1),
            (#""\a""#, .invalidEscape, 1), (#""\u12g4""#, .invalidEscape, 1), (#""\u12""#, .invalidEscape, 1),
            (#""ab\U0041""#, .invalidEscape, 3),
            (#""\ud800""#, .loneSurrogate, 1), (#""\udc00""#, .loneSurrogate, 1), (#""x\ud800\u0041""#, .loneSurrogate, 2),
            (#""\ud800x""#, .loneSurrogate, 1), (#""\udc00\ud800""#, .loneSurrogate, 1), (#""\ud800\ud800""#, .loneSurrogate, 1),
            (#""\udc00\udc00""#, .loneSurrogate, 1),
            (#""\ud83d\ude0""#, .loneSurrogate, 1),
            ("\"a\nb\"", .controlCharacter, 2), ("\"\0\"", .controlCharacter, 1), ("\"12345678\u{1f}\"", .controlCharacter, 9),
            ("{\"a\":1,\"a\":1}", .duplicateMember, 7), (#"{"a":1,"b":2,"\u0061":3}"#, .duplicateMember, 13),
            ("[{\"a\":{\"b\":1,\"b\":2}}]", .duplicateMember, 13),
        ] as [(String, JSONSyntaxError.Code, Int)]
    )
    func `invalid JSON is refused with the byte offset`(text: String, code: JSONSyntaxError.Code, offset: Int) {
        expectRefusal(of: Array(text.utf8), code, at: offset)
    }

    @Test(
        arguments: [
            [0x80], [0xC0, 0x80], [0xC1, 0xBF], [0xE0, 0x80, 0x80], [0xE0, 0x9F, 0xBF], [0xED, 0xA0, 0x80], [0xED, 0xBF, 0xBF],
            [0xF0, 0x80, 0x80, 0x80],
            [0xF0, 0x8F, 0xBF, 0xBF], [0xF4, 0x90, 0x80, 0x80], [0xF5, 0x80, 0x80, 0x80], [0xFE], [0xFF], [0xC3], [0xE2, 0x82],
            [0xF0, 0x9F, 0x98],
        ] as [[UInt8]]
    )
    func `invalid UTF-8 is refused in plain and in escaped strings`(bytes: [UInt8]) {
        expectRefusal(of: Array("[\"".utf8) + bytes + Array("\"]".utf8), .invalidUTF8, at: 2)
        expectRefusal(of: Array("[\"\\n".utf8) + bytes + Array("\"]".utf8), .invalidUTF8, at: 2)
    }

    @Test func `depth is limited and the limit is configurable`() throws {
        func nested(_ depth: Int) -> [UInt8] { Array((String(repeating: "[", count: depth) + String(repeating: "]", count: depth)).utf8) }
        #expect(throws: Never.self) { try JSONParser().parse(nested(32)) }
        expectRefusal(of: nested(33), .tooDeep, at: 32)
        expectRefusal(of: [UInt8](repeating: UInt8(ascii: "["), count: 1_000_000), .tooDeep, at: 32)
        #expect(throws: JSONSyntaxError.self) { try JSONParser(maximumDepth: 2).parse(Array("{\"a\":[{}]}".utf8)) }
    }

    @Test(arguments: [2, 63, 64, 65, 66, 1000])
    func `a repeated name is detected among few and among many members`(count: Int) throws {
        let members = (0..<count).map { "\"n\($0)\":0" }.joined(separator: ",")
        #expect(try JSONParser().parseObject(Array("{\(members)}".utf8)).members.count == count)
        for index in [0, count / 2, count - 1] {
            let text = Array("{\(members),\"n\(index)\":1}".utf8)
            #expect(throws: JSONSyntaxError(code: .duplicateMember, offset: members.utf8.count + 2)) { try JSONParser().parse(text) }
        }
    }

    @Test func `canonically equivalent names are distinct`() throws {
        let text = Array("{\"\u{E9}\":1,\"e\u{301}\":2}".utf8)
        #expect(try JSONParser().parseObject(text).members.count == 2)
    }

    @Test func `a hundred thousand members are read in one pass`() throws {
        let text = Array(("{" + (0..<100_000).map { "\"\($0)\":0" }.joined(separator: ",") + "}").utf8)
        #expect(try JSONParser().parseObject(text).members.count == 100_000)
    }

    @Test(arguments: ["[]", "1", "null", "\"{}\""])
    func `parseObject refuses any other value`(text: String) {
        #expect(throws: JSONSyntaxError(code: .notAnObject, offset: 0)) { try JSONParser().parseObject(Array(text.utf8)) }
    }

    @Test func `an error description has code and offset but nothing of the text`() {
        #expect(JSONSyntaxError(code: .duplicateMember, offset: 7).description == "JSON: duplicate_member at byte 7")
    }

    private func expectRefusal(of text: [UInt8], _ code: JSONSyntaxError.Code, at offset: Int) {
        #expect(throws: JSONSyntaxError(code: code, offset: offset)) { try JSONParser().parse(text) }
    }
}
