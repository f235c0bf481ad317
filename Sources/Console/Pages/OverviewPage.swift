import InboxQueue
import Postgres
import SQL

/// `GET /`: whether notifications arrive, are settled and are told.
struct OverviewPage: ConsolePage {
    let path = "/"
    let area = ConsoleArea.overview
    /// The most events that the counts of this page look at.
    static let cap: Int64 = 10_000

    func answer(_ request: PageRequest, _ context: ConsoleContext) async throws -> PageAnswer {
        let rows = try await context.transaction.pipeline([
            InboxStatistics.statement, Statement.consoleEndpoints(), Statement.consoleResults(), Statement.consoleMinutes(),
        ])
        let (inbox, endpoints) = (try InboxStatistics(rows[0][0]), try EndpointTroubles(rows[1]))
        let results = try rows[2].map(ResultCount.init)
        let minutes = try rows[3].map(Minute.init)
        return .page(
            Page(
                title: "Overview",
                elsewhere: Elsewhere(
                    psql: [
                        "SELECT * FROM appstore.inbox_statistics()", "SELECT * FROM appstore.endpoint_status",
                        """
                        SELECT result, reason, count(*) FROM appstore.outcomes WHERE settled_at > now() - interval '24 hours' \
                        GROUP BY result, reason ORDER BY result, 3 DESC
                        """,
                    ],
                    commands: ["appstore-inbox status", "appstore-inbox endpoint list", "appstore-inbox tail"]
                ),
                refreshSeconds: 10
            ) {
                div(.class("cards")) {
                    receiving(inbox)
                    keepingUp(inbox)
                    outgoing(endpoints, inbox, context)
                }
                h2 { "Results of the last 24 hours" }
                resultTable(results, context)
                h2 { minutes.count < 180 ? "The last \(minutes.count) minutes, of the latest 10,000 events" : "The last three hours" }
                delays(minutes)
                chart(
                    title: "Events a minute",
                    summary: "Events that arrived and events that were settled in each minute.",
                    series: [
                        ChartSeries("arrived", minutes.map { Double($0.arrived) }),
                        ChartSeries("settled", minutes.map { Double($0.settled) }),
                    ],
                    labels: minutes.map { timeText($0.at) }
                )
            }
        )
    }

    private func receiving(_ inbox: InboxStatistics) -> Markup {
        let silence = inbox.silence
        let isLate = silence.map { $0 > .seconds(86_400) } ?? true
        return section(.class("card")) {
            p { isLate ? badge(.warning, "silent") : badge(.good, "receiving") }
            p { silence.map { "The last genuine notification came \(gap($0)) ago." } ?? "No notification has come yet." }
        }
    }

    private func keepingUp(_ inbox: InboxStatistics) -> Markup {
        let overdue = inbox.overdue ?? .zero
        return section(.class("card")) {
            p { overdue > .seconds(60) ? badge(.bad, "workers do not keep up") : badge(.good, "keeping up") }
            p {
                "\(counted(inbox.ready)) due, the first for \(gap(overdue)); \(counted(inbox.waiting)) wait for another attempt; "
                "\(counted(inbox.isolated)) isolated."
            }
            p {
                inbox.oldestUnsettled.map { "The oldest event without an outcome arrived \(gap($0)) ago." } ?? "Each event has an outcome."
            }
        }
    }

    private func outgoing(_ endpoints: EndpointTroubles, _ inbox: InboxStatistics, _ context: ConsoleContext) -> Markup {
        section(.class("card")) {
            p { endpoints.troubles.isEmpty ? badge(.good, "outgoing") : badge(.warning, "endpoints need you") }
            p {
                a(.href(context.url("outgoing"))) {
                    "\(endpoints.all - Int64(endpoints.troubles.count)) of \(endpoints.all) endpoints are well"
                }
                "."
            }
            p {
                inbox.feedPosition.map {
                    "The feed is at position \(grouped($0))"
                        + (inbox.feedLag.map { "; the last consumer is \(counted($0)) behind." } ?? ".")
                }
                    ?? "The feed is off."
            }
        }
    }

    private func resultTable(_ results: [ResultCount], _ context: ConsoleContext) -> Markup {
        let isCapped = results.first.map { $0.eventsInAll >= Self.cap } ?? false
        return dataTable(
            caption: isCapped ? "The latest 10,000 events by result" : "Events by result",
            columns: [Column("Result"), Column("Events", .number), Column("Most frequent reason")],
            rows: results.map { row in
                [
                    Markup { a(.href(context.url("events").with("q", "outcome:\(row.result) env:any"))) { row.result } },
                    .text(grouped(row.events)),
                    .text(row.reason.map { "\($0) (\(grouped(row.eventsOfReason)))" } ?? "–"),
                ]
            },
            empty: "Nothing was settled in the last 24 hours."
        )
    }

    private func delays(_ minutes: [Minute]) -> Markup {
        guard let p50 = minutes.last?.p50, let p99 = minutes.last?.p99 else { return .empty }
        return p {
            "From arrival to outcome: half of the events within \(milliseconds(p50)), 99 of 100 within \(milliseconds(p99)) "
            "(requeued events count from their first arrival)."
        }
    }

    private func milliseconds(_ count: Double) -> String { gap(.milliseconds(Int64(count.rounded()))) }
    private func timeText(_ instant: PostgresTimestamp) -> String { String(utcText(instant).prefix(16)) + " UTC" }
}

/// How many events of the last day have a result.
private struct ResultCount {
    let result: String
    let events: Int64
    let reason: String?
    let eventsOfReason: Int64
    let eventsInAll: Int64

    init(_ row: Row) throws {
        (result, events, reason) = (try row.decode("result"), try row.decode("events"), try row.decode("reason"))
        (eventsOfReason, eventsInAll) = (try row.decode("events_of_reason"), try row.decode("events_in_all"))
    }
}

/// What happened in a minute.
private struct Minute {
    let at: PostgresTimestamp
    let arrived: Int64
    let settled: Int64
    /// Milliseconds, over all minutes; nil where nothing was settled.
    let p50: Double?
    let p99: Double?

    init(_ row: Row) throws {
        (at, arrived, settled) = (try row.decode("minute"), try row.decode("arrived"), try row.decode("settled"))
        (p50, p99) = (try row.decode("p50"), try row.decode("p99"))
    }
}
