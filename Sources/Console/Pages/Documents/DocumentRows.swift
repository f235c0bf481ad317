import HTML
import StrictJSON

/// The rows of one table in a document, each with all its members, folded.
struct DocumentRows {
    let title: String
    /// The latest first.
    let rows: [JSONObject]
    /// Rows that are shown: a contract has hundreds of some.
    private static let limit = 2

    var markup: Markup {
        guard !rows.isEmpty else { return .empty }
        let shown = rows.prefix(Self.limit)
        return details {
            summary { "\(title) (\(rows.count))" }
            for row in shown {
                definitions(row.members.compactMap { member in Self.text(member.value).map { (member.name, Markup.text($0)) } })
            }
            moreRows(Int64(rows.count - shown.count))
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
