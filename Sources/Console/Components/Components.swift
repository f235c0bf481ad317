package import HTML

/// A column of a table.
package struct Column: Sendable {
    package enum Kind: Sendable { case text, number }
    let title: String
    let kind: Kind

    package init(_ title: String, _ kind: Kind = .text) {
        (self.title, self.kind) = (title, kind)
    }
}

/// A table with a caption, which scrolls by itself where the screen is narrow. The first column names the row.
///
/// - Parameter empty: what is said instead of a table without rows.
package func dataTable(caption text: String, columns: [Column], rows: [[Markup]], empty: String) -> Markup {
    guard !rows.isEmpty else { return p(.class("empty")) { empty } }
    return div(.class("scroll"), .tabindex(0), .role("region"), .ariaLabel(text)) {
        table {
            caption { text }
            thead {
                tr { columns.map { column in th([.scope(.col)] + style(column)) { column.title } } }
            }
            tbody {
                rows.map { cells in
                    tr { zip(columns, cells).map { column, cell in td(style(column)) { cell } } }
                }
            }
        }
    }
}

private func style(_ column: Column) -> [Attribute] { column.kind == .number ? [.class("number")] : [] }

/// Names with their values.
package func definitions(_ items: [(name: String, value: Markup)]) -> Markup {
    dl {
        items.map { item in
            div {
                dt { item.name }
                dd { item.value }
            }
        }
    }
}

/// How good a state is. It is told by a sign and a word, and by colour besides.
package enum Condition: String, Sendable {
    case good, warning, bad, neutral

    fileprivate var sign: String {
        switch self {
        case .good: "✓"
        case .warning: "▲"
        case .bad: "✗"
        case .neutral: "○"
        }
    }
}

/// A state in a word.
package func badge(_ condition: Condition, _ word: String) -> Markup {
    span(.class("badge \(condition.rawValue)")) {
        span(.ariaHidden) { condition.sign }
        " \(word)"
    }
}

/// An id or another text that must be read letter by letter; its direction changes nothing around it.
package func identifier(_ text: String?) -> Markup {
    guard let text else { return .text("–") }
    return code { bdi { text } }
}

/// Links to the pages before and after this one; nothing where there is neither.
package func pager(newer: ConsoleURL?, older: ConsoleURL?) -> Markup {
    guard newer != nil || older != nil else { return .empty }
    return nav(.class("pager"), .ariaLabel("Pages")) {
        newer.map { a(.href($0), .data("key", "p")) { "‹ newer" } }
        older.map { a(.href($0), .data("key", "n")) { "older ›" } }
    }
}

/// A count that was not followed beyond a limit: "10,000+".
package func counted(_ count: Int64, cap: Int64 = 10_000) -> String {
    grouped(min(count, cap)) + (count >= cap ? "+" : "")
}

/// A whole number with commas between thousands.
package func grouped(_ number: Int64) -> String {
    var digits = Array("\(number.magnitude)")
    for index in stride(from: digits.count - 3, to: 0, by: -3) { digits.insert(",", at: index) }
    return (number < 0 ? "−" : "") + String(digits)
}
