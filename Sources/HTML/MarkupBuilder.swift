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
