import AppStore
import FoundationEssentials
import Postgres

/// A column of a table.
struct Column: Sendable {
    enum Kind: Sendable { case text, number }
    let title: String
    let kind: Kind

    init(_ title: String, _ kind: Kind = .text) {
        (self.title, self.kind) = (title, kind)
    }
}

/// A table with a caption, which scrolls by itself where the screen is narrow. The first column names the row.
///
/// - Parameter empty: what is said instead of a table without rows.
func dataTable(caption text: String, columns: [Column], rows: [[Markup]], empty: String) -> Markup {
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
func definitions(_ items: [(name: String, value: Markup)]) -> Markup {
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
enum Condition: String, Sendable {
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
func badge(_ condition: Condition, _ word: String) -> Markup {
    span(.class("badge \(condition.rawValue)")) {
        span(.ariaHidden) { condition.sign }
        " \(word)"
    }
}

/// An id or another text that must be read letter by letter; its direction changes nothing around it.
func identifier(_ text: String?) -> Markup {
    guard let text else { return .text("–") }
    return code { bdi { text } }
}

/// Links to the pages before and after this one; nothing where there is neither.
func pager(newer: ConsoleURL?, older: ConsoleURL?) -> Markup {
    guard newer != nil || older != nil else { return .empty }
    return nav(.class("pager"), .ariaLabel("Pages")) {
        newer.map { a(.href($0), .data("key", "p")) { "‹ newer" } }
        older.map { a(.href($0), .data("key", "n")) { "older ›" } }
    }
}

/// A count that was not followed beyond a limit: "10,000+".
func counted(_ count: Int64, cap: Int64 = 10_000) -> String {
    grouped(min(count, cap)) + (count >= cap ? "+" : "")
}

/// A whole number with commas between thousands.
func grouped(_ number: Int64) -> String {
    var digits = Array("\(number.magnitude)")
    for index in stride(from: digits.count - 3, to: 0, by: -3) { digits.insert(",", at: index) }
    return (number < 0 ? "−" : "") + String(digits)
}

/// A form that does something. Its button stands at its end.
func actionForm(
    _ url: ConsoleURL,
    button word: String,
    isDangerous: Bool = false,
    @MarkupBuilder fields: () -> Markup = { .empty }
) -> Markup {
    form(.method(.post), .action(url), .class("action")) {
        fields()
        button(.type(.submit), .class(isDangerous ? "danger" : "act")) { word }
    }
}

/// A labelled line of text.
func textField(name: String, label text: String, value: String? = nil, isRequired: Bool = false, maximum: Int = 500) -> Markup {
    label(.class("field")) {
        span { text }
        input(
            [.type(.text), .name(name), .maxlength(maximum), .autocomplete(false)] + (value.map { [.value($0)] } ?? [])
                + (isRequired ? [.required] : [])
        )
    }
}

/// A value that the form brings back unseen.
func hiddenField(name: String, value: String) -> Markup { input(.type(.hidden), .name(name), .value(value)) }

/// A choice of several values.
func choiceField(name: String, label text: String, choices: [(value: String, title: String)], chosen: String? = nil) -> Markup {
    label(.class("field")) {
        span { text }
        select(.name(name)) {
            choices.map { choice in option([.value(choice.value)] + (choice.value == chosen ? [.selected] : [])) { choice.title } }
        }
    }
}

/// A search by GET, so that its result can be bookmarked.
///
/// - Parameters:
///   - kept: items of the query that stay, such as the environment.
///   - hints: what can be typed, offered by the browser.
func searchForm(
    action: ConsoleURL,
    name: String,
    value: String?,
    label text: String,
    hints: [String] = [],
    kept: [(name: String, value: String)] = []
) -> Markup {
    form(.method(.get), .action(action), .role("search"), .class("search")) {
        kept.map { hiddenField(name: $0.name, value: $0.value) }
        label(.class("field")) {
            span { text }
            input(
                [.type(.search), .name(name), .maxlength(500), .autocomplete(false), .data("key", "/")] + (value.map { [.value($0)] } ?? [])
                    + (hints.isEmpty ? [] : [.list("hints-\(name)")])
            )
        }
        if !hints.isEmpty {
            datalist(.id("hints-\(name)")) { hints.map { option(.value($0)) } }
        }
        button(.type(.submit)) { "Search" }
    }
}

/// A price as Apple gives it, in thousandths of the currency's unit. Thousandths that are zero are left out.
func money(_ thousandths: Int64?, _ currency: String?) -> Markup {
    guard let thousandths else { return .text("–") }
    let magnitude = thousandths.magnitude
    var fraction = String("\(magnitude % 1000 + 1000)".dropFirst())
    if fraction.hasSuffix("0") { fraction.removeLast() }
    let sign = thousandths < 0 ? "−" : ""
    return span(.class("money")) {
        "\(sign)\(grouped(Int64(magnitude / 1000))).\(fraction) "
        bdi { currency ?? "?" }
    }
}

/// An instant in UTC; console.js shows it in the time of the browser and keeps UTC as its title.
func timeOf(_ instant: PostgresTimestamp?) -> Markup {
    guard let instant else { return .text("–") }
    let text = "\(Timestamp(millisecondsSince1970: instant.millisecondsSince1970))"
    return time(.datetime(text)) { utcText(instant) + " UTC" }
}

/// An instant in UTC to the second: `2026-11-26 02:37:46`.
func utcText(_ instant: PostgresTimestamp) -> String {
    String("\(Timestamp(millisecondsSince1970: instant.millisecondsSince1970))".prefix(19)).replacing("T", with: " ")
}

/// A time span in its two largest units: "2 d 8 h".
func gap(_ duration: Duration) -> String {
    let seconds = duration.components.seconds
    let units: [(name: String, length: Int64)] = [("d", 86_400), ("h", 3600), ("min", 60), ("s", 1)]
    guard let index = units.firstIndex(where: { seconds.magnitude >= $0.length.magnitude }) else {
        return "\(duration.components.seconds * 1000 + duration.components.attoseconds / 1_000_000_000_000_000) ms"
    }
    let first = units[index]
    let rest = index + 1 < units.count ? seconds % first.length / units[index + 1].length : 0
    return "\(seconds / first.length) \(first.name)" + (rest == 0 ? "" : " \(abs(rest)) \(units[index + 1].name)")
}

/// The time from one instant to another.
func gap(from start: PostgresTimestamp, to end: PostgresTimestamp) -> Duration {
    .microseconds(end.microsecondsSince2000 - start.microsecondsSince2000)
}

extension PostgresTimestamp {
    /// The time of this machine.
    static var now: PostgresTimestamp { PostgresTimestamp(millisecondsSince1970: Int64(Date.now.timeIntervalSince1970 * 1000)) }
}
