/// The pages about events, customers, repairs and what goes out, and what is done on them.
extension ConsolePages {
    static let operations: [any ConsolePage] =
        [EventsPage(), RepairsPage(), OutgoingPage(), EndpointPage(), ReportsPage(), ReportFile()] + CustomerPage.all

    static let operationActions: [any ConsoleAction] =
        [RepairEvents(), RequeueEvent(), DiscardEvent(), ShowBody(), ForgetUser(), StopRepair()] + LinkOwner.all
        + ChangeEndpoint.Change.allCases.map { ChangeEndpoint(change: $0) }
}
