import AppStore
import StoreSimulator

/// The contracts that one event is about, when there are several. A purchase that its receipt calls a consumable is none.
struct EventContracts {
    let environment: String
    let eventID: Int64
    let contracts: Set<String>

    init?(of event: LifeEvent) {
        let told: (entries: [ReceiptEntry], renewals: [LegacyRenewal])
        switch event.content {
        case .notification, .post: return nil
        case .legacy(let notification):
            guard notification.isTaken else { return nil }
            told = (notification.receipt.entries, notification.legacyRenewals)
        case .receipt(let post): told = (post.receipt.entries, [])
        case .unanswered(let receipt, _): told = (receipt.entries, [])
        case .answer(let answer):
            told = (answer.inApp + answer.latestEntries + (answer.latest?.entries ?? []), answer.legacyRenewals)
        }
        environment = event.app.environment.rawValue
        eventID = event.id
        contracts = Set(told.entries.filter { !$0.isOfConsumable }.map(\.contract) + told.renewals.map(\.name.contract.id))
        if contracts.count < 2 { return nil }
    }

    /// One for each contract.
    var lines: [String] { contracts.map { BookLine.text("event_contract", environment, "\($0) \(eventID)", []) } }
}
