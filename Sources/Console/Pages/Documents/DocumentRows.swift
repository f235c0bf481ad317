import HTML
import StrictJSON

/// The rows of one table in a document, each with all its members, folded.
struct DocumentRows {
    let title: String
    let rows: [JSONObject]
    /// Rows that are shown: a contract has hundreds of some.
    private static let limit = 5

    var markup: Markup {
        guard !rows.isEmpty else { return .empty }
        let shown = rows.suffix(Self.limit)
        return details {
            summary { "\(title) (\(rows.count))" }
            if rows.count > shown.count { p { "The latest \(shown.count) of \(rows.count). The statement below shows all." } }
            for row in shown {
                definitions(row.members.compactMap { member in Self.text(member.value).map { (member.name, Markup.text($0)) } })
            }
        }
    }

    /// Nil for what says nothing.
    private static func text(_ value: JSONValue) -> String? {
        switch value {
        case .null: nil
        case .string(let text): text.shortened
        case .number(let number): number.text
        case .bool(let flag): flag ? "true" : "false"
        case .array, .object: JSONSerializer.text(value).shortened
        }
    }
}
