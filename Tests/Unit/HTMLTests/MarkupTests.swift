import NIOCore
import Testing

@testable import Console

@Suite struct MarkupTests {
    private func text(_ markup: Markup) -> String {
        var buffer = ByteBuffer()
        markup.write(into: &buffer)
        return String(buffer: buffer)
    }

    /// Texts with which someone might try to get markup, a script or a misleading text into a page.
    static let attacks = [
        "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "\"><svg onload=alert(1)>", "' onfocus='alert(1)' autofocus='",
        "</title></textarea></style></script><b>", "<!--", "-->", "<![CDATA[", "&lt;script&gt;", "&#60;script&#62;", "javascript:alert(1)",
        "\u{202E}gnp.exe", "\u{2066}<b>\u{2069}", "a\0b", "\u{85}\u{9B}31m", "\r\nset-cookie: a=b", "{{constructor}}", "${alert(1)}",
        "`onmouseover=alert(1)`", String(repeating: "<", count: 300), "\u{FEFF}<\u{200E}b>", "<a href='//evil.example'>",
    ]

    @Test(arguments: attacks)
    func `a text stays a text, in content and in attributes`(attack: String) {
        let html = text(p(.class(attack), .ariaLabel(attack), .data("copy", attack)) { attack })
        #expect(html.hasPrefix("<p class=\"") && html.hasSuffix("</p>"))
        let parts = html.split(separator: ">", maxSplits: 1)
        #expect(parts[0].filter { $0 == "\"" }.count == 6, "\(html)")
        #expect(html.filter { $0 == "<" }.count == 2 && html.filter { $0 == ">" }.count == 2, "\(html)")
        #expect(!html.contains("'"))
        let forbidden = html.unicodeScalars.filter { scalar in
            scalar != "\n" && scalar != "\t" && scalar.properties.generalCategory == .control
                || (0x202A...0x202E).contains(scalar.value) || (0x2066...0x2069).contains(scalar.value)
        }
        #expect(forbidden.isEmpty, "\(forbidden)")
    }

    @Test func `elements, attributes and control flow become HTML`() {
        let rows = ["a", "b"]
        let html = text(
            div(.id("x")) {
                if rows.count > 1 { h2 { "Two" } } else { h2 { "One" } }
                ul { for row in rows { li { row } } }
                input(.type(.checkbox), .name("event"), .required)
                meta()
            }
        )
        #expect(
            html == "<div id=\"x\"><h2>Two</h2><ul><li>a</li><li>b</li></ul><input type=\"checkbox\" name=\"event\" required><meta></div>"
        )
    }

    @Test(arguments: attacks + ["", ".", "..", "//evil.example", "/", "a b", "ü"])
    func `an address stays on the console`(attack: String) {
        let url = "\(ConsoleURL("users", attack).with("q", attack).with("none", nil))"
        #expect(url.hasPrefix("/users/") && !url.hasPrefix("/users/?"))
        let path = url.prefix { $0 != "?" }
        #expect(path.filter { $0 == "/" }.count == 2 && !["/users/.", "/users/.."].contains(path))
        #expect(url.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && !"<>\"'\\`".utf8.contains($0) })
        #expect(!url.contains("none"))
    }
}
