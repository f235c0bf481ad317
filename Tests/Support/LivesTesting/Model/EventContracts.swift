import AppStore
import StoreSimulator

/// The contracts of an event with several. A purchase that its receipt calls a consumable is no contract.
struct EventContracts {
    let environment: String
    let eventID: Int64
    let contracts: Set<String>

    init?(of event: LifeEvent) {
        let content: (entries: [ReceiptEntry], renewals: [V1Renewal])
        switch event.content {
        case .notification, .post, .appTransaction, .element: return nil
        case .legacy(let notification):
            guard notification.isAccepted else { return nil }
            content = (notification.receipt.entries, notification.legacyRenewals)
        case .receipt(let post): content = (post.receipt.entries, [])
        case .unanswered(let receipt, _): content = (receipt.entries, [])
        case .answer(let answer):
            content = (answer.inApp + answer.latestEntries + (answer.latest?.entries ?? []), answer.legacyRenewals)
        }
        environment = event.app.environment.rawValue
        eventID = event.id
        contracts = Set(content.entries.filter { !$0.isOfConsumable }.map(\.contract) + content.renewals.map(\.name.contract.id))
        if contracts.count < 2 { return nil }
    }

    /// One line for each contract.
    var lines: [String] { contracts.map { LedgerLine.text("event_contract", environment, "\($0) \(eventID)", []) } }
}
