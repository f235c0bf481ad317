package import NIOCore

/// A piece of HTML. Text in it is escaped when it is written, and no initializer takes markup as text.
package struct Markup: Sendable {
    enum Node: Sendable {
        case text(String)
        /// An element; one without content has no end tag.
        case element(StaticString, [Attribute], content: Markup?)
    }

    private(set) var nodes: [Node]

    init(_ nodes: [Node]) {
        self.nodes = nodes
    }

    /// Nothing.
    package static let empty = Markup([])

    /// A text, which may come from anywhere.
    package static func text(_ text: String) -> Markup { Markup([.text(text)]) }

    /// Several pieces, one after the other.
    package static func group(_ parts: [Markup]) -> Markup { Markup(parts.flatMap(\.nodes)) }

    /// What the builder closure makes.
    package init(@MarkupBuilder _ content: () -> Markup) {
        self = content()
    }

    /// Writes a whole document, which begins with its doctype.
    package func writeDocument(into buffer: inout ByteBuffer) {
        buffer.writeStaticString("<!DOCTYPE html>\n")
        write(into: &buffer)
    }

    /// Writes the piece.
    package func write(into buffer: inout ByteBuffer) {
        for node in nodes {
            switch node {
            case .text(let text):
                buffer.writeEscaped(text)
            case .element(let name, let attributes, let content):
                buffer.writeStaticString("<")
                buffer.writeStaticString(name)
                for attribute in attributes { attribute.write(into: &buffer) }
                buffer.writeStaticString(">")
                guard let content else { continue }
                content.write(into: &buffer)
                buffer.writeStaticString("</")
                buffer.writeStaticString(name)
                buffer.writeStaticString(">")
            }
        }
    }
}

/// Collects the content of an element. A `String` in it is text.
@resultBuilder
package enum MarkupBuilder {
    package static func buildExpression(_ text: String) -> Markup { .text(text) }
    package static func buildExpression(_ text: String?) -> Markup { text.map { .text($0) } ?? .empty }
    package static func buildExpression(_ markup: Markup) -> Markup { markup }
    package static func buildExpression(_ markup: Markup?) -> Markup { markup ?? .empty }
    package static func buildExpression(_ parts: [Markup]) -> Markup { .group(parts) }
    package static func buildBlock(_ parts: Markup...) -> Markup { .group(parts) }
    package static func buildOptional(_ part: Markup?) -> Markup { part ?? .empty }
    package static func buildEither(first part: Markup) -> Markup { part }
    package static func buildEither(second part: Markup) -> Markup { part }
    package static func buildArray(_ parts: [Markup]) -> Markup { .group(parts) }
}

/// The kind of an element with content: call it to make one.
package struct Element: Sendable {
    private let name: StaticString

    fileprivate init(_ name: StaticString) {
        self.name = name
    }

    package func callAsFunction(_ attributes: Attribute..., @MarkupBuilder content: () -> Markup) -> Markup {
        Markup([.element(name, attributes, content: content())])
    }

    /// An element whose attributes are computed.
    package func callAsFunction(_ attributes: [Attribute], @MarkupBuilder content: () -> Markup) -> Markup {
        Markup([.element(name, attributes, content: content())])
    }

    /// An element without content.
    package func callAsFunction(_ attributes: Attribute...) -> Markup {
        Markup([.element(name, attributes, content: .empty)])
    }
}

/// The kind of an element that cannot have content.
package struct VoidElement: Sendable {
    private let name: StaticString

    fileprivate init(_ name: StaticString) {
        self.name = name
    }

    package func callAsFunction(_ attributes: Attribute...) -> Markup {
        Markup([.element(name, attributes, content: nil)])
    }

    /// An element whose attributes are computed.
    package func callAsFunction(_ attributes: [Attribute]) -> Markup {
        Markup([.element(name, attributes, content: nil)])
    }
}

package let html = Element("html")
package let head = Element("head")
package let body = Element("body")
package let titleElement = Element("title")
package let div = Element("div")
package let span = Element("span")
package let p = Element("p")
package let h1 = Element("h1")
package let h2 = Element("h2")
package let strong = Element("strong")
package let small = Element("small")
package let code = Element("code")
package let pre = Element("pre")
package let bdi = Element("bdi")
package let ul = Element("ul")
package let li = Element("li")
package let dl = Element("dl")
package let dt = Element("dt")
package let dd = Element("dd")
package let table = Element("table")
package let caption = Element("caption")
package let thead = Element("thead")
package let tbody = Element("tbody")
package let tr = Element("tr")
package let th = Element("th")
package let td = Element("td")
package let section = Element("section")
package let header = Element("header")
package let footer = Element("footer")
package let nav = Element("nav")
package let main = Element("main")
package let form = Element("form")
package let label = Element("label")
package let button = Element("button")
package let select = Element("select")
package let option = Element("option")
package let datalist = Element("datalist")
package let fieldset = Element("fieldset")
package let legend = Element("legend")
package let details = Element("details")
package let summary = Element("summary")
package let a = Element("a")
package let time = Element("time")
package let svg = Element("svg")
package let polyline = Element("polyline")
package let line = Element("line")
package let svgTitle = Element("title")
package let meta = VoidElement("meta")
package let link = VoidElement("link")
package let input = VoidElement("input")

/// A script from a file, the only kind there is.
package func scriptFile(_ url: ConsoleURL) -> Markup { Element("script")(.src(url), .defer) }

/// An attribute of an element. There is one for each purpose that the console has, and none that holds a script or a style.
package struct Attribute: Sendable {
    private let prefix: StaticString
    private let name: StaticString
    /// Nil for an attribute that is true when it is there.
    private let value: String?

    private init(_ name: StaticString, _ value: String?, prefix: StaticString = " ") {
        (self.prefix, self.name, self.value) = (prefix, name, value)
    }

    func write(into buffer: inout ByteBuffer) {
        buffer.writeStaticString(prefix)
        buffer.writeStaticString(name)
        guard let value else { return }
        buffer.writeStaticString("=\"")
        buffer.writeEscaped(value)
        buffer.writeStaticString("\"")
    }

    /// How a form is sent.
    package enum Method: String, Sendable { case get, post }
    /// The kind of an input or a button.
    package enum InputType: String, Sendable { case text, search, hidden, checkbox, date, submit }
    /// What a heading of a table is about.
    package enum Scope: String, Sendable { case col }

    package static func href(_ url: ConsoleURL) -> Attribute { Attribute("href", url.description) }
    package static func src(_ url: ConsoleURL) -> Attribute { Attribute("src", url.description) }
    package static func action(_ url: ConsoleURL) -> Attribute { Attribute("action", url.description) }
    package static func method(_ method: Method) -> Attribute { Attribute("method", method.rawValue) }
    package static func type(_ type: InputType) -> Attribute { Attribute("type", type.rawValue) }
    package static func scope(_ scope: Scope) -> Attribute { Attribute("scope", scope.rawValue) }
    /// The relation of a linked file.
    package static func rel(_ relation: StaticString) -> Attribute { Attribute("rel", "\(relation)") }

    package static func id(_ id: String) -> Attribute { Attribute("id", id) }
    package static func `class`(_ names: String) -> Attribute { Attribute("class", names) }
    package static func lang(_ code: String) -> Attribute { Attribute("lang", code) }
    package static func charset(_ name: String) -> Attribute { Attribute("charset", name) }
    package static func content(_ text: String) -> Attribute { Attribute("content", text) }
    package static func name(_ name: String) -> Attribute { Attribute("name", name) }
    package static func value(_ value: String) -> Attribute { Attribute("value", value) }
    package static func list(_ id: String) -> Attribute { Attribute("list", id) }
    package static func autocomplete(_ isOn: Bool) -> Attribute { Attribute("autocomplete", isOn ? "on" : "off") }
    package static func datetime(_ instant: String) -> Attribute { Attribute("datetime", instant) }
    package static func maxlength(_ count: Int) -> Attribute { Attribute("maxlength", "\(count)") }
    package static func tabindex(_ index: Int) -> Attribute { Attribute("tabindex", "\(index)") }
    package static let required = Attribute("required", nil)
    package static let selected = Attribute("selected", nil)
    /// Not shown until a script does.
    package static let popover = Attribute("popover", nil)
    package static let `defer` = Attribute("defer", nil)

    package static func role(_ role: String) -> Attribute { Attribute("role", role) }
    package static func ariaLabel(_ text: String) -> Attribute { Attribute("aria-label", text) }
    package static func ariaCurrent(_ kind: String) -> Attribute { Attribute("aria-current", kind) }
    package static let ariaHidden = Attribute("aria-hidden", "true")
    /// An attribute for console.js.
    package static func data(_ name: StaticString, _ value: String) -> Attribute { Attribute(name, value, prefix: " data-") }

    package static func viewBox(_ box: String) -> Attribute { Attribute("viewBox", box) }
    package static func points(_ points: String) -> Attribute { Attribute("points", points) }
    /// A coordinate of a drawing.
    package static func length(_ name: Length, _ value: Double) -> Attribute {
        Attribute(name.attribute, "\((value * 100).rounded() / 100)")
    }

    /// The coordinates of drawings.
    package enum Length: Sendable {
        case x1, y1, x2, y2

        fileprivate var attribute: StaticString {
            switch self {
            case .x1: "x1"
            case .y1: "y1"
            case .x2: "x2"
            case .y2: "y2"
            }
        }
    }
}

extension ByteBuffer {
    /// Writes text so that a browser reads it as text, in content and in quoted attributes.
    ///
    /// Control characters that HTML forbids, and characters that turn the direction of reading, become U+FFFD: who wrote a text must not
    /// decide how the text beside it looks.
    mutating func writeEscaped(_ text: String) {
        var plain = text.unicodeScalars[...]
        while let index = plain.firstIndex(where: { Self.replacement(of: $0) != nil }) {
            writeSubstring(Substring(plain[..<index]))
            if let replacement = Self.replacement(of: plain[index]) { writeStaticString(replacement) }
            plain = plain[plain.index(after: index)...]
        }
        writeSubstring(Substring(plain))
    }

    private static func replacement(of scalar: Unicode.Scalar) -> StaticString? {
        switch scalar {
        case "&": "&amp;"
        case "<": "&lt;"
        case ">": "&gt;"
        case "\"": "&quot;"
        case "'": "&#39;"
        case "\t", "\n": nil
        case "\0"..."\u{1F}", "\u{7F}"..."\u{9F}", "\u{61C}", "\u{200E}", "\u{200F}", "\u{2028}"..."\u{202E}", "\u{2066}"..."\u{2069}":
            "\u{FFFD}"
        default: nil
        }
    }
}
