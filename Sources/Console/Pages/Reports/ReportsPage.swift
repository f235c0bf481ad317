import HTML

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
