import AppStore
import HTML
import Postgres
import SQL

/// A report of the schema appstore_reports, as a query of the page asks for it.
struct Report: Sendable {
    enum Kind: String, CaseIterable, Sendable {
        case subscriptions, mrr, movement, churn, trials, refunds
        case renewalStatus = "renewal_status"
        case retention

        var title: String {
            switch self {
            case .subscriptions: "Active subscriptions"
            case .mrr: "Monthly recurring revenue"
            case .movement: "Movement"
            case .churn: "Churn"
            case .trials: "Trial conversion"
            case .refunds: "Refunds"
            case .renewalStatus: "Renewal status"
            case .retention: "Retention"
            }
        }

        /// The columns that a chart shows; none for a report that is of one day.
        var figures: [String] {
            switch self {
            case .subscriptions: ["subscriptions"]
            case .mrr: ["mrr"]
            case .movement: ["new_subscriptions", "churned"]
            case .churn: ["churn_rate"]
            case .trials: ["conversion_rate"]
            case .refunds: ["refund_rate"]
            case .renewalStatus, .retention: []
            }
        }

        /// Whether its figures are of periods.
        var hasPeriods: Bool { ![.subscriptions, .mrr, .renewalStatus].contains(self) }
    }

    // Of the statement console_report.
    private static let today: StaticString = "(now() AT TIME ZONE 'UTC')::date"
    private static let daysAgo: StaticString = "(now() AT TIME ZONE 'UTC')::date - 59"
    private static let monthsAgo: StaticString = "(date_trunc('month', now() AT TIME ZONE 'UTC') - interval '11 months')::date"

    static let dimensions = ["app", "product", "storefront", "offer", "currency"]
    static let periods = ["day", "week", "month", "quarter", "year"]

    let kind: Kind
    /// What the figures are divided by; nil for one figure.
    let dimension: String?
    let period: String
    let first: String?
    let last: String?

    /// - Throws: ``ConsoleProblem`` for a word that no report knows.
    init(_ query: PageQuery) throws(ConsoleProblem) {
        let name = query["report"] ?? Kind.mrr.rawValue
        guard let kind = Kind(rawValue: name) else {
            throw .notFound("There is no report “\(name.shortened)”. There are \(Kind.allCases.map(\.rawValue).joined(separator: ", ")).")
        }
        self.kind = kind
        dimension = try Self.word(query, "by", Self.dimensions)
        period = try Self.word(query, "every", Self.periods) ?? "month"
        first = try Self.day(query, "first")
        last = try Self.day(query, "last")
    }

    func statement(isSandbox: Bool) -> Statement {
        .consoleReport(first: first, last: last, by: dimension, sandbox: isSandbox, report: kind.rawValue, every: period)
    }

    /// The same report in psql.
    func psql(isSandbox: Bool) -> PsqlText {
        let sandbox = isSandbox ? "true" : "false"
        switch kind {
        case .subscriptions:
            return
                "SELECT * FROM appstore_reports.subscriptions_daily(\(first, else: Self.daysAgo), \(last, else: Self.today), \(dimension), \(sandbox));"
        case .mrr:
            return
                "SELECT * FROM appstore_reports.mrr_by_month(\(first, else: Self.monthsAgo), \(last, else: Self.today), \(dimension), \(sandbox));"
        case .movement:
            return
                "SELECT * FROM appstore_reports.movement(\(first, else: Self.monthsAgo), \(last, else: Self.today), \(dimension), \(period), \(sandbox));"
        case .churn:
            return
                "SELECT * FROM appstore_reports.churn(\(first, else: Self.monthsAgo), \(last, else: Self.today), \(dimension), \(period), \(sandbox));"
        case .trials:
            return
                "SELECT * FROM appstore_reports.trials(\(first, else: Self.monthsAgo), \(last, else: Self.today), \(dimension), \(period), \(sandbox));"
        case .refunds:
            return
                "SELECT * FROM appstore_reports.refunds(\(first, else: Self.monthsAgo), \(last, else: Self.today), \(dimension), \(period), \(sandbox));"
        case .renewalStatus: return "SELECT * FROM appstore_reports.renewal_status_at(\(last, else: Self.today), \(dimension), \(sandbox));"
        case .retention: return "SELECT * FROM appstore_reports.retention(NULL, \(period), \(first), \(last), \(sandbox));"
        }
    }

    /// The address of the report, or of its file.
    func url(_ context: ConsoleContext, _ segments: String...) -> ConsoleURL {
        ConsoleURL(segments: segments).with("report", kind.rawValue).with("by", dimension).with("every", period).with("first", first)
            .with("last", last).with("environment", context.environment == "Production" ? nil : context.environment)
    }

    private static func word(_ query: PageQuery, _ name: String, _ known: [String]) throws(ConsoleProblem) -> String? {
        guard let word = query[name] else { return nil }
        guard known.contains(word) else { throw .badRequest("“\(name)” is one of \(known.joined(separator: ", ")).") }
        return word
    }

    private static func day(_ query: PageQuery, _ name: String) throws(ConsoleProblem) -> String? {
        guard let text = query[name] else { return nil }
        guard text.utf8.count == 10, !text.hasPrefix("0"), Timestamp(rfc3339: Array((text + "T00:00:00Z").utf8)) != nil else {
            throw .badRequest("“\(name)” is a day such as 2026-01-31.")
        }
        return text
    }
}
