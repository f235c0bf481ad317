/// What Health shows: a finding of each check that can be made through the database.
package typealias HealthReport = @Sendable () async -> [HealthFinding]

/// All pages and actions of the console.
struct ConsolePages: Sendable {
    let pages: [any ConsolePage]
    let actions: [any ConsoleAction]

    init(health: @escaping HealthReport, bodyCheck: BodyCheck? = nil) {
        pages =
            [OverviewPage(), AttentionPage(), AuditPage(), SessionsPage(), HealthPage(reports: HealthReports(health))]
            + [EventPage(checksBodies: bodyCheck != nil)] + Self.operations
        actions = [EndSession(), CheckBody(check: bodyCheck)] + Self.operationActions
    }
}
