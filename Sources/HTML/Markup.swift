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
