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

    @Test func `what a receiver answers stays on one line, whatever ends its lines`() {
        #expect("a\r\nb\nc\rd\u{B}\u{85}".onOneLineSafely == "a\\u000d\\nb\\nc\\u000dd\\u000b\\u0085")
    }

    @Test func `escaped JSON has the same value`() throws {
        let value: JSONObject = ["a\u{9B}": "\u{1B}\u{202E}\u{E0041}\n\"\\", "b": [1, true, .null]]
        let shown = String(decoding: JSONSerializer.serialize(value), as: UTF8.self).shownSafely
        let parsed = try JSONParser().parseObject(Array(shown.utf8))
        #expect(parsed == value)
        #expect(!shown.unicodeScalars.contains { !$0.isASCII })
    }

    @Test func `a document is printed a member a line, without what says nothing`() {
        let jws = String(repeating: "e", count: 99) + ".e.e"
        let document: JSONObject = [
            "signedDate": 1_735_689_600_123, "none": [], "empty": ["x": .null], "absent": .null, "steps": ["form", "header"],
            "data": ["signedTransactionInfo": .string(jws), "status": 1],
            "runs": [["run": 1, "result": "applied"], ["run": 2, "nested": ["a": true]]],
        ]
        #expect(
            document.text == """
                signedDate: 1735689600123  (2025-01-01T00:00:00.123Z)
                steps: form, header
                data:
                  signedTransactionInfo: (see data.signedTransactionInfo)
                  status: 1
                runs:
                  - run: 1
                    result: applied
                  - run: 2
                    nested:
                      a: true
                """
        )
    }

    @Test func `text with several lines cannot pretend to be another member`() {
        let document: JSONObject = ["note": "x\nresult: applied", "a\nb": "", "escape": "\u{1B}[2J"]
        #expect(
            document.text == #"""
                note: "x\nresult: applied"
                "a\nb": ""
                escape: \u001b[2J
                """#
        )
    }

    @Test func `a long list is cut`() {
        let lines = (["ids": .array((1...500).map { .integer($0) })] as JSONObject).text.split(separator: "\n")
        #expect(lines.count == 2 && lines[0].hasSuffix(", 19, 20") && lines[1] == "  … and 480 more, which --json shows")
    }
}
