import AppStore
import StrictJSON
import Testing

@testable import Commands

struct ShownTextTests {
    @Test(arguments: [
        ("\u{1B}[2J", "\\u001b[2J"), ("\u{9B}31m", "\\u009b31m"), ("\u{202E}evil", "\\u202eevil"), ("a\rb", "a\\u000db"),
        ("\u{7F}", "\\u007f"), ("\u{E0041}", "\\udb40\\udc41"), ("Grüße, 日本 \u{1F600}\n", "Grüße, 日本 \u{1F600}\n"),
    ])
    func `printed text cannot move the cursor or reverse its direction`(text: String, shown: String) {
        #expect(text.shownSafely == shown)
    }

    @Test func `pretty-printed JSON has the same value`() throws {
        let value: JSONObject = ["a\u{9B}": "\u{1B}\u{202E}\u{E0041}\n\"\\", "b": [1, true, .null]]
        let shown = String(decoding: JSONSerializer.serialize(value), as: UTF8.self).shownSafely
        let parsed = try JSONParser().parseObject(Array(shown.utf8))
        #expect(parsed == value)
        #expect(!shown.unicodeScalars.contains { !$0.isASCII })
    }

    @Test func `payloads are indented, with Apple's dates as comments`() {
        let value: JSONValue = [
            "signedDate": 1_735_689_600_123, "updateDate": "yesterday", "list": [1, ["x": .null]], "none": [], "empty": [:],
        ]
        #expect(
            value.pretty() == """
                {
                  "signedDate": 1735689600123,  // 2025-01-01T00:00:00.123Z
                  "updateDate": "yesterday",
                  "list": [
                    1,
                    {
                      "x": null
                    }
                  ],
                  "none": [],
                  "empty": {}
                }
                """
        )
    }
}
