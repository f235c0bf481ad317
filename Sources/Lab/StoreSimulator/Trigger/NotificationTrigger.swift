package import AppStore
package import FoundationEssentials

/// Makes one consistent notification of any kind: it simulates a short life and returns the last notification.
package struct NotificationTrigger: Sendable {
    package var kind: NotificationKind
    package var app: SimulatedApp
    /// When it is signed.
    package var now: Timestamp
    /// Determines all identifiers that are not given.
    package var seed: UInt64
    /// The product that the transaction is about.
    package var productID: String?
    /// The type of the product for ONE_TIME_CHARGE (default: a consumable) and for types about refunds (default: a subscription).
    package var productType: ProductType?
    /// The contract. The charge is the contract's first one if the kind allows it and ``transactionID`` is not different.
    package var originalTransactionID: String?
    package var transactionID: String?
    package var appAccountToken: UUID?
    /// Thousandths of the currency unit.
    package var price: Int64?
    /// The contract that the notification takes further, instead of one of a new customer. Its identifiers cannot be given then.
    package var contract: ExistingContract?
    /// Allows kinds that Apple does not document; such a notification is about an active subscription.
    package var allowsUnknownKinds = false

    package init(_ kind: NotificationKind, app: SimulatedApp, now: Timestamp, seed: UInt64) {
        self.kind = kind
        self.app = app
        self.now = now
        self.seed = seed
    }

    /// All known kinds, in alphabetical order, without variants.
    package static let knownKinds: [String] = scenarios.map(\.kind).filter { !$0.contains(":") }
    /// All scenarios, in the order of their kinds; with what a variant is about.
    package static let scenarios: [(kind: String, words: String?)] = TriggerScenario.all.sorted { $0.key < $1.key }
        .map { ($0.key, $0.value.words) }

    /// The notification.
    ///
    /// Throws `unknownNotification`, which lists the known kinds, and `invalidOption` when options contradict each other or the kind.
    package func notification() throws(SimulationError) -> SimulatedNotification {
        let scenario = try scenario()
        try checkOptions(scenario)
        var state = ScenarioState(self)
        var notification = try scenario.run(&state)
        notification.type = kind.type
        notification.subtype = kind.subtype
        if contract == nil { setIdentifiers(of: &notification, scenario.charge) } else { setDates(of: &notification) }
        return notification
    }

    private func scenario() throws(SimulationError) -> TriggerScenario {
        if let scenario = TriggerScenario.all[kind.description] { return scenario }
        if kind.variant != nil {
            let known = Self.scenarios.map(\.kind).filter { $0.hasPrefix("\(kind.type.rawValue)") && $0.contains(":") }
            throw SimulationError(
                .unknownNotification,
                known.isEmpty
                    ? "\(kind.type.rawValue) has no variants" : "\(kind) is no known variant; known are \(known.joined(separator: ", "))"
            )
        }
        if allowsUnknownKinds { return .undocumented }
        let related = Self.knownKinds.filter { $0 == kind.type.rawValue || $0.hasPrefix("\(kind.type.rawValue)/") }
        let known = (related.isEmpty ? Self.knownKinds : related).joined(separator: ", ")
        throw SimulationError(
            .unknownNotification,
            related.isEmpty
                ? "\(kind) is no known notification; known are \(known)" : "\(kind) is not known; \(kind.type.rawValue) comes as \(known)"
        )
    }

    private func checkOptions(_ scenario: TriggerScenario) throws(SimulationError) {
        let identifiers = [transactionID, originalTransactionID]
        guard identifiers.allSatisfy({ $0?.isEmpty != true }) else {
            throw SimulationError(.invalidOption, "an empty identifier names no transaction")
        }
        guard price.map({ $0 >= 0 }) ?? true else { throw SimulationError(.invalidOption, "the price is negative") }
        guard contract == nil || kind.variant == nil else {
            throw SimulationError(.invalidOption, "\(kind) begins a contract of its own: it takes none further")
        }
        switch scenario.charge {
        case .none:
            let isBare =
                identifiers.allSatisfy { $0 == nil } && appAccountToken == nil && price == nil && productType == nil && contract == nil
            guard isBare else { throw SimulationError(.invalidOption, "\(kind) is about no transaction") }
        case .first where contract != nil:
            throw SimulationError(.invalidOption, "\(kind) begins a contract: it takes none further")
        case .first where transactionID != nil && originalTransactionID != nil && transactionID != originalTransactionID:
            throw SimulationError(.invalidOption, "\(kind) is a first purchase: its transactionId is its originalTransactionId")
        case .later where transactionID != nil && transactionID == originalTransactionID:
            throw SimulationError(.invalidOption, "\(kind) is a later charge: its transactionId is not its originalTransactionId")
        case .first, .later, .any: break
        }
    }

    /// Everything is signed now: later than what the inbox has of the contract, and not in the future.
    private func setDates(of notification: inout SimulatedNotification) {
        notification.signedDate = now
        guard var state = notification.state else { return }
        state.transaction?.signedDate = now
        state.renewalInfo?.signedDate = now
        notification.setState(state)
    }

    private func setIdentifiers(of notification: inout SimulatedNotification, _ charge: TriggerScenario.Charge) {
        guard var state = notification.state, var transaction = state.transaction?.value else { return }
        switch charge {
        case .none: return
        case .first, .any:
            transaction.originalTransactionID = originalTransactionID ?? transactionID ?? transaction.originalTransactionID
            transaction.transactionID = transactionID ?? originalTransactionID ?? transaction.transactionID
        case .later:
            transaction.originalTransactionID = originalTransactionID ?? transaction.originalTransactionID
            transaction.transactionID = transactionID ?? transaction.transactionID
        }
        state.transaction?.value = transaction
        state.renewalInfo?.value.originalTransactionID = transaction.originalTransactionID
        notification.setState(state)
    }
}
