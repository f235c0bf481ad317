import AppStore
import Postgres
import StrictJSON

/// A column of a table whose rows are JSON objects.
struct DocumentColumn: Sendable {
    let column: Column
    let cell: @Sendable (JSONObject) -> Markup

    init(_ title: String, _ kind: Column.Kind = .text, _ cell: @escaping @Sendable (JSONObject) -> Markup) {
        column = Column(title, kind)
        self.cell = cell
    }

    /// The member as it is.
    static func text(_ title: String, _ member: String) -> DocumentColumn { DocumentColumn(title) { $0.text(member) } }

    static func identifier(_ title: String, _ member: String) -> DocumentColumn {
        DocumentColumn(title) { Console.identifier($0.word(member)?.shortened) }
    }

    static func time(_ title: String, _ member: String) -> DocumentColumn { DocumentColumn(title) { $0.time(member) } }

    static func number(_ title: String, _ member: String) -> DocumentColumn {
        DocumentColumn(title, .number) { $0.text(member) }
    }

    /// A duration of which the member has the seconds.
    static func duration(_ title: String, _ member: String) -> DocumentColumn {
        DocumentColumn(title) { row in .text(row.seconds(member).map(gap) ?? "–") }
    }

    /// A word for a state, with a shape.
    static func state(_ title: String, _ member: String) -> DocumentColumn { DocumentColumn(title) { $0.badge(member) } }
}

/// A table with a row for each document.
///
/// - Parameters:
///   - limit: the most rows that are shown. Where there are more, a line below the table says how many.
///   - count: how many rows there are, where the documents are not all of them. A count of 10,000 means as many or more.
///   - isCut: whether there may be more documents than were asked for.
func documentTable(
    _ caption: String,
    _ rows: some Collection<JSONObject>,
    limit: Int = .max,
    of count: Int64? = nil,
    isCut: Bool = false,
    empty: String,
    _ columns: [DocumentColumn]
) -> Markup {
    let shown = rows.prefix(limit)
    return Markup {
        dataTable(
            caption: caption,
            columns: columns.map(\.column),
            rows: shown.map { row in columns.map { $0.cell(row) } },
            empty: empty
        )
        moreRows((count ?? Int64(rows.count)) - Int64(shown.count), isCut: isCut)
    }
}

/// Says that rows are left out, and where to see them.
func moreRows(_ count: Int64, isCut: Bool = false) -> Markup {
    guard count > 0 else { return .empty }
    return p { "… and \(counted(count, cap: isCut ? count : 10_000)) more: see “The same in psql and as a command” below." }
}

extension JSONObject {
    /// A member as text, cut where it is long.
    func text(_ name: String) -> Markup { .text(word(name)?.shortened ?? "–") }

    /// A member that PostgreSQL wrote as a timestamptz; nil where there is none, and for infinity.
    func instant(_ name: String) -> Timestamp? { word(name).flatMap { Timestamp(rfc3339: Array($0.utf8)) } }

    func time(_ name: String) -> Markup {
        if word(name) == "infinity" { return .text("without end") }
        return instant(name).map { timeOf(PostgresTimestamp(millisecondsSince1970: $0.millisecondsSince1970)) } ?? .text("–")
    }

    func seconds(_ name: String) -> Duration? { word(name).flatMap { Int64($0) }.map { .seconds($0) } }

    func integer(_ name: String) -> Int64? { word(name).flatMap { Int64($0) } }

    /// The member as a badge.
    func badge(_ name: String) -> Markup { word(name).map { stateBadge($0) } ?? .text("–") }
}

/// A badge for any of the words that the schema has for states and results.
func stateBadge(_ word: String) -> Markup {
    switch word {
    case "applied", "superseded", "no_effect", "duplicate", "enabled", "done", "active", "paid", "delivered", "answered", "found":
        badge(.good, word)
    case "failed", "rejected", "disabled", "behind", "given_up", "refused", "missed", "refunded", "revoked":
        badge(.bad, word)
    case "unhandled", "paused", "waiting", "grace_period", "leeway", "billing_retry", "probe_failed", "later", "stopped", "partly_refunded":
        badge(.warning, word)
    default: badge(.neutral, word.shortened)
    }
}

extension String {
    /// At most 120 scalars: one long text must not fill a page. A Character has any number of bytes.
    var shortened: String {
        unicodeScalars.dropFirst(120).isEmpty ? self : String(unicodeScalars.prefix(119)) + "…"
    }
}

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

extension Transaction {
    /// The rows of a statement that returns JSON objects in its only column.
    func documents(_ statement: Statement) async throws -> [JSONObject] {
        try await query(statement).map { try JSONParser().parseObject(Array(try $0.decode(0, as: JSONText.self).text.utf8)) }
    }

    /// The only row of such a statement; nil where there is none, or where it is null.
    func document(_ statement: Statement) async throws -> JSONObject? {
        let document = try await query(statement).first?.decode(0, as: JSONText?.self)
        return try document.flatMap(\.self).map { try JSONParser().parseObject(Array($0.text.utf8)) }
    }
}
