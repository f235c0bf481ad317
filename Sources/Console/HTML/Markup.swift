import NIOCore

/// A piece of HTML. Text in it is escaped when it is written, and no initializer takes markup as text.
struct Markup: Sendable {
    fileprivate enum Node: Sendable {
        case text(String)
        /// An element; one without content has no end tag.
        case element(StaticString, [Attribute], content: Markup?)
    }

    private let nodes: [Node]

    fileprivate init(_ nodes: [Node]) {
        self.nodes = nodes
    }

    /// Nothing.
    static let empty = Markup([])

    /// A text, which may come from anywhere.
    static func text(_ text: String) -> Markup { Markup([.text(text)]) }

    /// Several pieces, one after the other.
    static func group(_ parts: [Markup]) -> Markup { Markup(parts.flatMap(\.nodes)) }

    /// What the builder closure makes.
    init(@MarkupBuilder _ content: () -> Markup) {
        self = content()
    }

    /// Writes a whole document, which begins with its doctype.
    func writeDocument(into buffer: inout ByteBuffer) {
        buffer.writeStaticString("<!DOCTYPE html>\n")
        write(into: &buffer)
    }

    /// Writes the piece.
    func write(into buffer: inout ByteBuffer) {
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
enum MarkupBuilder {
    static func buildExpression(_ text: String) -> Markup { .text(text) }
    static func buildExpression(_ text: String?) -> Markup { text.map { .text($0) } ?? .empty }
    static func buildExpression(_ markup: Markup) -> Markup { markup }
    static func buildExpression(_ markup: Markup?) -> Markup { markup ?? .empty }
    static func buildExpression(_ parts: [Markup]) -> Markup { .group(parts) }
    static func buildBlock(_ parts: Markup...) -> Markup { .group(parts) }
    static func buildOptional(_ part: Markup?) -> Markup { part ?? .empty }
    static func buildEither(first part: Markup) -> Markup { part }
    static func buildEither(second part: Markup) -> Markup { part }
    static func buildArray(_ parts: [Markup]) -> Markup { .group(parts) }
}

/// The kind of an element with content: call it to make one.
struct Element: Sendable {
    private let name: StaticString

    fileprivate init(_ name: StaticString) {
        self.name = name
    }

    func callAsFunction(_ attributes: Attribute..., @MarkupBuilder content: () -> Markup) -> Markup {
        Markup([.element(name, attributes, content: content())])
    }

    /// An element whose attributes are computed.
    func callAsFunction(_ attributes: [Attribute], @MarkupBuilder content: () -> Markup) -> Markup {
        Markup([.element(name, attributes, content: content())])
    }

    /// An element without content.
    func callAsFunction(_ attributes: Attribute...) -> Markup {
        Markup([.element(name, attributes, content: .empty)])
    }
}

/// The kind of an element that cannot have content.
struct VoidElement: Sendable {
    private let name: StaticString

    fileprivate init(_ name: StaticString) {
        self.name = name
    }

    func callAsFunction(_ attributes: Attribute...) -> Markup {
        Markup([.element(name, attributes, content: nil)])
    }

    /// An element whose attributes are computed.
    func callAsFunction(_ attributes: [Attribute]) -> Markup {
        Markup([.element(name, attributes, content: nil)])
    }
}

let html = Element("html")
let head = Element("head")
let body = Element("body")
let titleElement = Element("title")
let div = Element("div")
let span = Element("span")
let p = Element("p")
let h1 = Element("h1")
let h2 = Element("h2")
let strong = Element("strong")
let small = Element("small")
let code = Element("code")
let pre = Element("pre")
let bdi = Element("bdi")
let ul = Element("ul")
let li = Element("li")
let dl = Element("dl")
let dt = Element("dt")
let dd = Element("dd")
let table = Element("table")
let caption = Element("caption")
let thead = Element("thead")
let tbody = Element("tbody")
let tr = Element("tr")
let th = Element("th")
let td = Element("td")
let section = Element("section")
let header = Element("header")
let footer = Element("footer")
let nav = Element("nav")
let main = Element("main")
let form = Element("form")
let label = Element("label")
let button = Element("button")
let select = Element("select")
let option = Element("option")
let datalist = Element("datalist")
let fieldset = Element("fieldset")
let legend = Element("legend")
let details = Element("details")
let summary = Element("summary")
let a = Element("a")
let time = Element("time")
let svg = Element("svg")
let polyline = Element("polyline")
let line = Element("line")
let svgTitle = Element("title")
let meta = VoidElement("meta")
let link = VoidElement("link")
let input = VoidElement("input")

/// A script from a file, the only kind there is.
func scriptFile(_ url: ConsoleURL) -> Markup { Element("script")(.src(url), .defer) }

/// An attribute of an element. There is one for each purpose that the console has, and none that holds a script or a style.
struct Attribute: Sendable {
    private let prefix: StaticString
    private let name: StaticString
    /// Nil for an attribute that is true when it is there.
    private let value: String?

    private init(_ name: StaticString, _ value: String?, prefix: StaticString = " ") {
        (self.prefix, self.name, self.value) = (prefix, name, value)
    }

    fileprivate func write(into buffer: inout ByteBuffer) {
        buffer.writeStaticString(prefix)
        buffer.writeStaticString(name)
        guard let value else { return }
        buffer.writeStaticString("=\"")
        buffer.writeEscaped(value)
        buffer.writeStaticString("\"")
    }

    /// How a form is sent.
    enum Method: String, Sendable { case get, post }
    /// The kind of an input or a button.
    enum InputType: String, Sendable { case text, search, hidden, checkbox, date, submit }
    /// What a heading of a table is about.
    enum Scope: String, Sendable { case col }

    static func href(_ url: ConsoleURL) -> Attribute { Attribute("href", url.description) }
    static func src(_ url: ConsoleURL) -> Attribute { Attribute("src", url.description) }
    static func action(_ url: ConsoleURL) -> Attribute { Attribute("action", url.description) }
    static func method(_ method: Method) -> Attribute { Attribute("method", method.rawValue) }
    static func type(_ type: InputType) -> Attribute { Attribute("type", type.rawValue) }
    static func scope(_ scope: Scope) -> Attribute { Attribute("scope", scope.rawValue) }
    /// The relation of a linked file.
    static func rel(_ relation: StaticString) -> Attribute { Attribute("rel", "\(relation)") }

    static func id(_ id: String) -> Attribute { Attribute("id", id) }
    static func `class`(_ names: String) -> Attribute { Attribute("class", names) }
    static func lang(_ code: String) -> Attribute { Attribute("lang", code) }
    static func charset(_ name: String) -> Attribute { Attribute("charset", name) }
    static func content(_ text: String) -> Attribute { Attribute("content", text) }
    static func name(_ name: String) -> Attribute { Attribute("name", name) }
    static func value(_ value: String) -> Attribute { Attribute("value", value) }
    static func list(_ id: String) -> Attribute { Attribute("list", id) }
    static func autocomplete(_ isOn: Bool) -> Attribute { Attribute("autocomplete", isOn ? "on" : "off") }
    static func datetime(_ instant: String) -> Attribute { Attribute("datetime", instant) }
    static func maxlength(_ count: Int) -> Attribute { Attribute("maxlength", "\(count)") }
    static func tabindex(_ index: Int) -> Attribute { Attribute("tabindex", "\(index)") }
    static let required = Attribute("required", nil)
    static let selected = Attribute("selected", nil)
    /// Not shown until a script does.
    static let popover = Attribute("popover", nil)
    static let `defer` = Attribute("defer", nil)

    static func role(_ role: String) -> Attribute { Attribute("role", role) }
    static func ariaLabel(_ text: String) -> Attribute { Attribute("aria-label", text) }
    static func ariaCurrent(_ kind: String) -> Attribute { Attribute("aria-current", kind) }
    static let ariaHidden = Attribute("aria-hidden", "true")
    /// An attribute for console.js.
    static func data(_ name: StaticString, _ value: String) -> Attribute { Attribute(name, value, prefix: " data-") }

    static func viewBox(_ box: String) -> Attribute { Attribute("viewBox", box) }
    static func points(_ points: String) -> Attribute { Attribute("points", points) }
    /// A coordinate of a drawing.
    static func length(_ name: Length, _ value: Double) -> Attribute {
        Attribute(name.attribute, "\((value * 100).rounded() / 100)")
    }

    /// The coordinates of drawings.
    enum Length: Sendable {
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
    fileprivate mutating func writeEscaped(_ text: String) {
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
