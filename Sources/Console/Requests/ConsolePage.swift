package import HTML
package import Postgres

/// A page of the console, or a file that a page offers. GET only: it runs in a READ ONLY transaction as `appstore_viewer`.
package protocol ConsolePage: Sendable {
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
package enum ConsoleArea: String, CaseIterable, Sendable {
    case overview, events, customers, attention, outgoing, repairs, reports, audit, health, sessions

    /// The address of its first page.
    var url: ConsoleURL { self == .overview ? ConsoleURL() : ConsoleURL(rawValue) }
    var title: String { rawValue.prefix(1).uppercased() + rawValue.dropFirst() }
}

/// What a page is asked for.
package struct PageRequest: Sendable {
    /// The variable segments of the path, decoded.
    package let values: [String: String]
    package let query: PageQuery

    /// A variable segment that is a number.
    ///
    /// - Throws: status 404 where it is none.
    package func number(_ name: String) throws(ConsoleProblem) -> Int64 {
        guard let number = values[name].flatMap({ Int64($0) }), number >= 0 else { throw .notFound("There is no such page.") }
        return number
    }
}

/// What a page says.
package enum PageAnswer: Sendable {
    case page(Page)
    /// A page that takes long, or connections of its own: it is made after the transaction of the request.
    case later(@Sendable () async -> Page)
    /// A file to save, such as CSV.
    case file(name: String, mediaType: String, text: String)
}

/// The content of a page, without what all pages have.
package struct Page: Sendable {
    package let title: String
    package let content: Markup
    /// How to ask for the same without the console.
    package let elsewhere: Elsewhere
    /// After how many seconds a browser with script asks again; nil for never.
    package let refreshSeconds: Int?

    package init(title: String, elsewhere: Elsewhere, refreshSeconds: Int? = nil, @MarkupBuilder content: () -> Markup) {
        (self.title, self.elsewhere, self.refreshSeconds, self.content) = (title, elsewhere, refreshSeconds, content())
    }
}

/// Who asks, for which environment, and the open transaction.
package struct ConsoleContext: Sendable {
    package let person: ConsolePerson
    /// Production or Sandbox, as chosen in the head of the page.
    package let environment: String
    /// Whether the whole console is read-only.
    package let isReadOnly: Bool
    /// Of a page: READ ONLY as `appstore_viewer`. Of an action: as the role of its right, with the person as actor. It is committed when the
    /// page or the action has answered.
    package let transaction: Transaction

    /// Whether forms that change something are of use to the person.
    package var mayAct: Bool { may(.operate) }

    /// Whether the person may use actions of a right.
    package func may(_ right: ConsoleRight) -> Bool { !isReadOnly && person.has(right) }

    /// An address that keeps the chosen environment.
    package func url(_ segments: String...) -> ConsoleURL {
        ConsoleURL(segments: segments).with("environment", environment == "Production" ? nil : environment)
    }
}
