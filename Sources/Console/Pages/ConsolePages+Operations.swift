/// Events, customers, outgoing, repairs and reports.
extension ConsolePages {
    static let operations: [any ConsolePage] = []
    static let operationActions: [any ConsoleAction] = []
}
