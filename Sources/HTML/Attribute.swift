import NIOCore

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
