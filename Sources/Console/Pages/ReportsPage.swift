import AppStore
import Postgres
import SQL
import StrictJSON

/// The figures of a report, with a chart.
struct ReportsPage: ConsolePage {
    let path = "/reports"
    let area = ConsoleArea.reports

    func answer(_ request: PageRequest, _ context: ConsoleContext) async throws -> PageAnswer {
        let report = try Report(request.query)
        let isSandbox = context.environment == "Sandbox"
        let rows = try await context.transaction.documents(report.statement(isSandbox: isSandbox))
        let table = ReportTable(report: report, rows: rows)
        let page = Page(title: report.kind.title, elsewhere: Elsewhere(psql: [report.psql(isSandbox: isSandbox)])) {
            nav(.ariaLabel("Reports")) {
                ul {
                    for kind in Report.Kind.allCases {
                        li {
                            a(
                                [.href(context.url("reports").with("report", kind.rawValue))]
                                    + (kind == report.kind ? [.ariaCurrent("page")] : [])
                            ) {
                                kind.title
                            }
                        }
                    }
                }
            }
            choice(report, context)
            table.chart
            table.table
            p { a(.href(report.url(context, "reports", "file"))) { "Save as CSV" } }
            p { small { "Days are UTC. Apple advises against its prices for reconciliation: compare with Apple’s financial reports." } }
        }
        return .page(page)
    }

    /// What the figures are of, by GET.
    private func choice(_ report: Report, _ context: ConsoleContext) -> Markup {
        form(.method(.get), .action(context.url("reports")), .class("search")) {
            context.kept.map { hiddenField(name: $0.name, value: $0.value) }
            hiddenField(name: "report", value: report.kind.rawValue)
            if report.kind != .retention {
                choiceField(
                    name: "by",
                    label: "By",
                    choices: [("", "nothing")] + Report.dimensions.map { ($0, $0) },
                    chosen: report.dimension
                )
            }
            if report.kind.hasPeriods {
                choiceField(name: "every", label: "Every", choices: Report.periods.map { ($0, $0) }, chosen: report.period)
            }
            for (name, title, day) in [("first", "From", report.first), ("last", "To", report.last)] {
                label(.class("field")) {
                    span { title }
                    input([.type(.date), .name(name)] + (day.map { [.value($0)] } ?? []))
                }
            }
            button(.type(.submit)) { "Show" }
        }
    }
}

/// The rows of a report as a file.
struct ReportFile: ConsolePage {
    let path = "/reports/file"
    let area = ConsoleArea.reports

    func answer(_ request: PageRequest, _ context: ConsoleContext) async throws -> PageAnswer {
        let report = try Report(request.query)
        let rows = try await context.transaction.documents(report.statement(isSandbox: context.environment == "Sandbox"))
        return .file(
            name: "\(report.kind.rawValue).csv",
            mediaType: "text/csv; charset=utf-8",
            text: ReportTable(report: report, rows: rows).csv
        )
    }
}

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

/// The rows of a report, as a table, a chart and a file.
struct ReportTable: Sendable {
    let report: Report
    let rows: [JSONObject]

    /// Rows on the page; the file has all.
    static let limit = 60
    /// Lines of a chart.
    private static let lines = 5

    private var names: [String] { rows.first?.members.map(\.name) ?? [] }

    /// The latest rows.
    var table: Markup {
        let shown = Array(rows.suffix(Self.limit))
        return Markup {
            documentTable(
                report.kind.title,
                shown,
                empty: "There is nothing in this range.",
                names.map { name in
                    let isNumber = shown.contains { if case .number? = $0[name] { true } else { false } }
                    let title = name.replacing("_", with: " ")
                    let isRatio = name.hasSuffix("_rate") || name == "retention"
                    if name == "is_incomplete" {
                        return DocumentColumn("complete") { $0.word(name) == "true" ? badge(.warning, "not yet") : badge(.good, "yes") }
                    }
                    if isRatio { return DocumentColumn(title, .number) { .text($0.percent(name).map { "\($0) %" } ?? "–") } }
                    return isNumber ? .number(title, name) : .text(title, name)
                }
            )
            if rows.count > shown.count { p { "The latest \(shown.count) of \(grouped(Int64(rows.count))) rows. The file has all." } }
        }
    }

    /// Nil where there is nothing to draw.
    var chart: Markup? {
        let places = Set(rows.compactMap(\.place)).sorted()
        guard places.count > 1, !report.kind.figures.isEmpty else { return nil }
        var lines: [(name: String, values: [String: Double])] = []
        for row in rows {
            guard let place = row.place else { continue }
            for figure in report.kind.figures {
                let name = [figure.replacing("_", with: " "), row.word("value").flatMap { $0 == "all" ? nil : $0 }, row.word("currency")]
                    .compactMap(\.self).joined(separator: " ").shortened
                let value = (row.word(figure).flatMap { Double($0) } ?? 0) * (figure.hasSuffix("_rate") ? 100 : 1)
                if let index = lines.firstIndex(where: { $0.name == name }) {
                    lines[index].values[place, default: 0] += value
                } else {
                    lines.append((name, [place: value]))
                }
            }
        }
        let highest = lines.sorted { $0.values.values.reduce(0, +) > $1.values.values.reduce(0, +) }.prefix(Self.lines)
        let unit = report.kind.figures.allSatisfy { $0.hasSuffix("_rate") } ? ", in per cent" : ""
        return Console.chart(
            title: report.kind.title + unit,
            summary: "\(report.kind.title)\(unit), from \(places[0]) to \(places[places.count - 1])",
            series: highest.map { line in ChartSeries(line.name, places.map { line.values[$0] ?? 0 }) },
            labels: places
        )
    }

    /// RFC 4180. A text that a spreadsheet would take for a formula gets an apostrophe.
    var csv: String {
        let lines = [names] + rows.map { row in names.map { Self.cell(row[$0]) } }
        return lines.map { $0.map(Self.quoted).joined(separator: ",") + "\r\n" }.joined()
    }

    private static func cell(_ value: JSONValue?) -> String {
        switch value {
        case .number(let number)?: number.text
        case .bool(let flag)?: flag ? "true" : "false"
        // By scalars: a sign that an accent follows is another Character.
        case .string(let text)?:
            text.unicodeScalars.first { !$0.properties.isWhitespace }.map { "=+-@".unicodeScalars.contains($0) } == true ? "'" + text : text
        default: ""
        }
    }

    private static func quoted(_ cell: String) -> String {
        guard cell.unicodeScalars.contains(where: { ",\"\r\n".unicodeScalars.contains($0) }) else { return cell }
        return cell.unicodeScalars.reduce(into: "\"") { quoted, scalar in
            quoted.unicodeScalars.append(scalar)
            if scalar == "\"" { quoted.unicodeScalars.append(scalar) }
        } + "\""
    }
}

extension JSONObject {
    /// The day or the beginning of the period that a row is about.
    fileprivate var place: String? { word("day") ?? word("period") }

    /// A ratio in per cent, with one digit.
    fileprivate func percent(_ name: String) -> String? {
        word(name).flatMap { Double($0) }.map { "\(($0 * 1000).rounded() / 10)" }
    }
}
