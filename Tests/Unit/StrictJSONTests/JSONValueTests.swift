import AppStore
import StrictJSON
import Testing

struct JSONValueTests {
    @Test(
        arguments: [
            ("0", 0, 0), ("-0", 0, 0), ("-0.0", 0, 0), ("12.0", 12, 12), ("1.2e1", 12, 12), ("120e-1", 12, 12), ("1.5", nil, 1),
            ("-1.5", nil, -2),
            ("0.0001", nil, 0), ("-0.0001", nil, -1), ("-1e-30", nil, -1), ("9223372036854775807", .max, .max),
            ("-9223372036854775808", .min, .min),
            ("9223372036854775808", nil, nil), ("-9223372036854775809", nil, nil), ("9223372036854775807.9", nil, .max),
            ("-9223372036854775808.1", nil, nil), ("9.223372036854775807e18", .max, .max),
            ("1e18", 1_000_000_000_000_000_000, 1_000_000_000_000_000_000),
            ("1e19", nil, nil), ("0e999999999999999999999", 0, 0), ("1e999999999999999999999", nil, nil),
            ("1e-999999999999999999999", nil, 0),
            ("-1e-999999999999999999999", nil, -1), ("1000000000000000000000e-21", 1, 1), ("1738755504443.25", nil, 1_738_755_504_443),
        ] as [(String, Int64?, Int64?)]
    )
    func `a number is read as an exact or rounded integer without a Double`(text: String, exact: Int64?, floored: Int64?) throws {
        guard case .number(let number) = try JSONParser().parse(Array(text.utf8)) else {
            Issue.record("no number")
            return
        }
        #expect(number.int64 == exact)
        #expect(number.floored == floored)
    }

    @Test func `an object keeps the order of its members and is built from a literal`() {
        var object: JSONObject = ["b": 1, "a": [true, .null], "c": ["d": "e"]]
        object["a"] = 2
        object["z"] = "new"
        object["b"] = nil
        object["absent"] = nil
        #expect(String(decoding: JSONSerializer.serialize(object), as: UTF8.self) == #"{"a":2,"c":{"d":"e"},"z":"new"}"#)
        #expect(object["a"] == 2)
        #expect(object["b"] == nil)
    }

    @Test func `a name given twice in a literal is one member with the later value`() {
        let object: JSONObject = ["a": 1, "b": 2, "a": 3]
        #expect(object.members.map(\.name) == ["a", "b"])
        #expect(object["a"] == 3)
    }

    @Test func `a string is escaped only where RFC 8259 requires it`() {
        let text = "\"\\/\u{8}\u{C}\n\r\t\0\u{1f}\u{7f}é😀"
        #expect(String(decoding: JSONSerializer.serialize(.string(text)), as: UTF8.self) == #""\"\\/\b\f\n\r\t\u0000\u001f"# + "\u{7f}é😀\"")
    }

    @Test(
        arguments: [
            (#"{"a":"b"}"#, false), (#"{"a":"b\u0000"}"#, true), (#"{"\u0000":1}"#, true), (#"["12345678\\\\\u00009"]"#, true),
            ("[0,null]", false),
            (#""\\u0000""#, false), (#""\\\u0000""#, true), (#""\u0001\u00001""#, true), (#""\u00010000""#, false), (#""\\""#, false),
        ])
    func `an escaped NUL is found; an escaped backslash before digits is not one`(text: String, contains: Bool) {
        let bytes = Array(text.utf8)
        #expect(throws: Never.self) { try JSONParser().parse(bytes) }
        #expect(JSONParser.containsNUL(in: bytes) == contains)
    }

    @Test func `dates are written as whole milliseconds`() {
        #expect(JSONSerializer.serialize(.timestamp(Timestamp(millisecondsSince1970: 1_759_302_518_835))) == Array("1759302518835".utf8))
    }
}
