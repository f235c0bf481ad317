import HTTPServing
import Postgres

/// A page of the console, or a file that a page offers. GET only: it runs in a READ ONLY transaction as `appstore_viewer`.
protocol ConsolePage: Sendable {
    /// The path, with variable segments in braces: `/events/{event}`.
    var path: String { get }
    /// The entry of the navigation that it belongs to.
    var area: ConsoleArea { get }
    /// Reads what the page shows.
    ///
    /// - Throws: ``ConsoleProblem`` for what the person asked wrongly, or the error of a statement.
    func answer(_ request: PageRequest, _ context: ConsoleContext) async throws -> PageAnswer
}

/// The parts of the console, in the order of its navigation.
enum ConsoleArea: String, CaseIterable, Sendable {
    case overview, events, customers, attention, outgoing, repairs, reports, audit, health, sessions

    /// The address of its first page.
    var url: ConsoleURL { self == .overview ? ConsoleURL() : ConsoleURL(rawValue) }
    var title: String { rawValue.prefix(1).uppercased() + rawValue.dropFirst() }
}

/// What a page is asked for.
struct PageRequest: Sendable {
    /// The variable segments of the path, decoded.
    let values: [String: String]
    let query: PageQuery

    /// A variable segment that is a number.
    ///
    /// - Throws: status 404 where it is none.
    func number(_ name: String) throws(ConsoleProblem) -> Int64 {
        guard let number = values[name].flatMap({ Int64($0) }), number >= 0 else { throw .notFound("There is no such page.") }
        return number
    }
}

/// What a page says.
enum PageAnswer: Sendable {
    case page(Page)
    /// A page that takes long, or connections of its own: it is made after the transaction of the request.
    case later(@Sendable () async -> Page)
    /// A file to save, such as CSV.
    case file(name: String, mediaType: String, text: String)
}

/// The content of a page, without what all pages have.
struct Page: Sendable {
    let title: String
    let content: Markup
    /// How to ask for the same without the console.
    let elsewhere: Elsewhere
    /// After how many seconds a browser with script asks again; nil for never.
    let refreshSeconds: Int?

    init(title: String, elsewhere: Elsewhere, refreshSeconds: Int? = nil, @MarkupBuilder content: () -> Markup) {
        (self.title, self.elsewhere, self.refreshSeconds, self.content) = (title, elsewhere, refreshSeconds, content())
    }
}

/// Who asks, for which environment, and the open transaction.
struct ConsoleContext: Sendable {
    let person: ConsolePerson
    /// Production or Sandbox, as chosen in the head of the page.
    let environment: String
    /// Whether the whole console is read-only.
    let isReadOnly: Bool
    /// Of a page: READ ONLY as `appstore_viewer`. Of an action: as the role of its right, with the person as actor. It is committed when the
    /// page or the action has answered.
    let transaction: Transaction

    /// Whether forms that change something are of use to the person.
    var mayAct: Bool { may(.operate) }

    /// Whether the person may use actions of a right.
    func may(_ right: ConsoleRight) -> Bool { !isReadOnly && person.has(right) }

    /// An address that keeps the chosen environment.
    func url(_ segments: String...) -> ConsoleURL {
        ConsoleURL(segments: segments).with("environment", environment == "Production" ? nil : environment)
    }
}

/// The query of a request; of repeated items the first counts, and empty ones are as good as missing.
struct PageQuery: Sendable {
    private let values: [String: String]

    /// An empty query.
    init() {
        values = [:]
    }

    /// - Throws: status 400 where the query cannot be decoded.
    init(_ text: String?) throws(ConsoleProblem) {
        guard let fields = FormEncoding.decode(text ?? "") else { throw .badRequest("The address cannot be read.") }
        values = Dictionary(fields.filter { !$0.value.isEmpty }.map { ($0.name, $0.value) }, uniquingKeysWith: { first, _ in first })
    }

    subscript(name: String) -> String? { values[name] }

    /// All items but the environment, which each page has, by their names.
    var items: [(name: String, value: String)] {
        values.filter { $0.key != "environment" }.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }

    /// An item that is a whole number, such as a place in a list; nil where it is missing.
    ///
    /// - Throws: status 400 where it is no number.
    func int64(_ name: String) throws(ConsoleProblem) -> Int64? {
        guard let text = values[name] else { return nil }
        guard let number = Int64(text) else { throw .badRequest("\(name) must be a whole number.") }
        return number
    }
}

/// Names and values as forms and queries have them (URL standard, application/x-www-form-urlencoded).
enum FormEncoding {
    /// Nil for an incomplete escape, for bytes that are not UTF-8, and for U+0000.
    static func decode(_ text: String) -> [(name: String, value: String)]? {
        var fields: [(name: String, value: String)] = []
        for pair in text.split(separator: "&") {
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = component(parts[0]), let value = component(parts.count == 2 ? parts[1] : "") else { return nil }
            fields.append((name, value))
        }
        return fields
    }

    private static func component(_ text: Substring) -> String? {
        guard let decoded = PercentEncoding.decode(Substring(text.replacing("+", with: " "))), !decoded.contains("\0") else { return nil }
        return decoded
    }
}
